/** As many are kept, the newest. */
const MOST = 200;

/** A set of texts that outlives the page, where the browser lets it. */
export class StoredSet {
  constructor(private readonly _key: string) {
    try {
      const found = JSON.parse(localStorage.getItem(_key) ?? '[]');
      this._texts = new Set(Array.isArray(found) ? found : []);
    } catch {
      this._texts = new Set();
    }
  }

  has(text: string): boolean {
    return this._texts.has(text);
  }

  add(text: string): void {
    this._texts.add(text);
    try {
      const newest = [...this._texts].slice(-MOST);
      localStorage.setItem(this._key, JSON.stringify(newest));
    } catch {
      // Then it is known until the page is closed.
    }
  }

  private _texts: Set<unknown>;
}
