/** A queue that serves its tenants in turn, so that one with much work does not hold up the others. */
export class FairQueue<T> {
  /** Tenants with work, the next one first. */
  readonly #byTenant = new Map<string, T[]>();

  push(tenant: string, item: T): void {
    const items = this.#byTenant.get(tenant);
    if (items === undefined) this.#byTenant.set(tenant, [item]);
    else items.push(item);
  }

  shift(): T | undefined {
    for (const [tenant, items] of this.#byTenant) {
      const item = items.shift();
      // The tenant goes to the end of the line.
      this.#byTenant.delete(tenant);
      if (items.length > 0) this.#byTenant.set(tenant, items);
      return item;
    }
    return undefined;
  }
}
