import { plain, visible } from '../text';

describe('plain', () => {
  it('leaves out what a terminal would obey', () => {
    expect(plain('\u001b[1;31mred\u001b[0m')).toBe('red');
    expect(plain('\u001b]8;;http://x\u0007link\u001b]8;;\u0007')).toBe('link');
  });

  it('keeps lines, and markup as it was written', () => {
    expect(plain('a\r\nb\t<b>&amp;</b>')).toBe('a\nb\t<b>&amp;</b>');
  });
});

describe('visible', () => {
  it('shows control characters instead of sending them', () => {
    expect(visible('a\u0000b')).toBe('a␀b');
    expect(visible('\u001b[2J')).toBe('␛[2J');
    expect(visible('\u007f')).toBe('␡');
  });

  it('shows characters that would turn the text around or hide', () => {
    expect(visible('x\u202ey')).toBe('x\\u202ey');
    expect(visible('x\u200by')).toBe('x\\u200by');
    expect(visible('x\u{e0041}y')).toBe('x\\U000e0041y');
  });

  it.each([
    ...['00ad', '061c', '115f', '180e', '2028', '2029', '2060', '2064'],
    ...['206f', '3164', 'feff', 'ffa0', 'fff9', 'fffb']
  ])('shows what no screen shows: %s', code => {
    expect(visible(String.fromCharCode(parseInt(code, 16)))).toBe(`\\u${code}`);
  });

  it('shows lone surrogates and leaves pairs alone', () => {
    expect(visible('\ud800x')).toBe('\\ud800x');
    expect(visible('x\udc00')).toBe('x\\udc00');
    expect(visible('🫀')).toBe('🫀');
  });
});
