/** Items by time, the earliest first: a binary heap, so that thousands of waits need one timer. */
export class TimeHeap<T> {
  readonly #nodes: { readonly atMs: number; readonly item: T }[] = [];

  get nextAtMs(): number | undefined {
    return this.#nodes[0]?.atMs;
  }

  push(atMs: number, item: T): void {
    const nodes = this.#nodes;
    let index = nodes.length;
    nodes.push({ atMs, item });
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (nodes[parent]!.atMs <= nodes[index]!.atMs) return;
      this.#swap(index, parent);
      index = parent;
    }
  }

  /** The earliest item, if its time has come. */
  popDue(nowMs: number): T | undefined {
    const nodes = this.#nodes;
    const first = nodes[0];
    if (first === undefined || first.atMs > nowMs) return undefined;
    const last = nodes.pop()!;
    if (nodes.length > 0) {
      nodes[0] = last;
      this.#sink(0);
    }
    return first.item;
  }

  #sink(start: number): void {
    const nodes = this.#nodes;
    let index = start;
    for (;;) {
      const left = 2 * index + 1;
      let least = index;
      if (left < nodes.length && nodes[left]!.atMs < nodes[least]!.atMs) least = left;
      if (left + 1 < nodes.length && nodes[left + 1]!.atMs < nodes[least]!.atMs) least = left + 1;
      if (least === index) return;
      this.#swap(index, least);
      index = least;
    }
  }

  #swap(a: number, b: number): void {
    const nodes = this.#nodes;
    [nodes[a], nodes[b]] = [nodes[b]!, nodes[a]!];
  }
}
