/** Bytes to server-sent events, by the rules of https://html.spec.whatwg.org/multipage/server-sent-events.html. */

export interface ServerSentEvent {
  /** The last `id` so far; undefined before the first. */
  readonly id: string | undefined;
  /** Undefined: a block without data, which only moves the id. */
  readonly data: string | undefined;
}

/** Our events have no longer lines. */
const lineCharsMax = 4 * 1024 * 1024;

/** Parses text in pieces of any length. */
export class EventParser {
  #line = '';
  #skipLineFeed = false;
  #data: string[] = [];
  #id: string | undefined;

  /** Throws RangeError for a line without end. */
  *push(text: string): Generator<ServerSentEvent> {
    let from = 0;
    if (this.#skipLineFeed && text.length > 0) {
      this.#skipLineFeed = false;
      if (text.startsWith('\n')) from = 1;
    }
    for (;;) {
      const end = /[\r\n]/.exec(text.slice(from));
      if (end === null) break;
      const line = this.#line + text.slice(from, from + end.index);
      this.#line = '';
      from += end.index + 1;
      if (end[0] === '\r') {
        if (from === text.length) this.#skipLineFeed = true;
        else if (text[from] === '\n') from += 1;
      }
      const event = this.#take(line);
      if (event !== undefined) yield event;
    }
    this.#line += text.slice(from);
    if (this.#line.length > lineCharsMax) throw new RangeError('an event has no end');
  }

  #take(line: string): ServerSentEvent | undefined {
    if (line === '') {
      const data = this.#data.length === 0 ? undefined : this.#data.join('\n');
      this.#data = [];
      return { id: this.#id, data };
    }
    const [, name = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (name === 'data') this.#data.push(value);
    else if (name === 'id' && !value.includes('\0')) this.#id = value;
    return undefined;
  }
}
