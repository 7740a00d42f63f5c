/** Lists: the items one after the other, over all pages. It requests a page only when needed. */
import { ClientError } from './errors.ts';

interface PageBody {
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export class Pages<Item, Page = unknown> implements AsyncIterable<Item> {
  readonly #field: string;
  readonly #read: (cursor: string | undefined) => Promise<Page>;

  /** @param read one page; `field` holds its items */
  constructor(field: string, read: (cursor: string | undefined) => Promise<Page>) {
    this.#field = field;
    this.#read = read;
  }

  /** Only the first page, as the service answers it. */
  first(): Promise<Page> {
    return this.#read(undefined);
  }

  /** Page by page. Throws ClientError `malformed_answer` for a list whose next page is an earlier one. */
  async *pages(): AsyncGenerator<Page, void, undefined> {
    const seen = new Set<string>();
    for (let cursor: string | undefined; ; ) {
      const page = await this.#read(cursor);
      yield page;
      const { has_more: hasMore, next_cursor: next } = page as PageBody;
      if (!hasMore || next === null) return;
      if (seen.has(next)) throw new ClientError('malformed_answer', 'the list names a cursor for a second time');
      seen.add(next);
      cursor = next;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const page of this.pages())
      yield* (page as Readonly<Record<string, readonly Item[]>>)[this.#field] ?? [];
  }

  /** Every item, at most `itemsMax` of them. */
  async toArray(itemsMax = Number.POSITIVE_INFINITY): Promise<Item[]> {
    const items: Item[] = [];
    if (itemsMax <= 0) return items;
    for await (const item of this) {
      items.push(item);
      if (items.length >= itemsMax) break;
    }
    return items;
  }
}
