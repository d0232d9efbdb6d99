/* A recording holds text of any program. React escapes HTML; this module handles characters that
 * a screen would obey or hide: terminal codes, controls, bidirectional overrides. */

/* eslint-disable no-control-regex */
const ANSI =
  /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/g;
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f]/g;
/* eslint-enable no-control-regex */
/* The same as in render/wording.py, where a test compares them. */
const UNSEEN =
  /[\u0080-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;
const LONE_SURROGATE =
  /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** Return code with every invisible character made visible. */
export function visible(text: string): string {
  return text
    .replace(CONTROL, char =>
      char === '\u007f'
        ? '\u2421'
        : String.fromCharCode(0x2400 + char.charCodeAt(0))
    )
    .replace(UNSEEN, escaped)
    .replace(LONE_SURROGATE, escaped);
}

/** Return a sentence without terminal codes, otherwise as `visible`. */
export function plain(text: string): string {
  return visible(text.replace(/\r\n/g, '\n').replace(ANSI, ''));
}

function escaped(char: string): string {
  const code = (char.codePointAt(0) ?? 0).toString(16);
  return code.length > 4
    ? `\\U${code.padStart(8, '0')}`
    : `\\u${code.padStart(4, '0')}`;
}
