/* A recording holds text of any program. React escapes HTML; this module handles characters that
 * a screen would obey or hide: terminal codes, controls, bidirectional overrides. */

/* eslint-disable no-control-regex */
const ANSI =
  /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/g;
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f]/g;
/* eslint-enable no-control-regex */
const UNSEEN =
  /[\u0080-\u009f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;
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
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
