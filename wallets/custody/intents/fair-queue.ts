/** A queue that serves its tenants in turn, so that a tenant with much work does not delay the others. */
export class FairQueue<T> {
  /** Tenants with work, the next one first. */
  readonly #byTenant = new Map<string, T[]>();

  push(tenant: string, item: T): void {
    const items = this.#byTenant.get(tenant);
    if (items === undefined) this.#byTenant.set(tenant, [item]);
    else items.push(item);
  }

  /** How many of one tenant wait, and how many will be served before one more of them would be. */
  waiting(tenant: string): { readonly own: number; readonly ahead: number } {
    const own = this.#byTenant.get(tenant)?.length ?? 0;
    let ahead = 0;
    for (const items of this.#byTenant.values()) ahead += Math.min(items.length, own + 1);
    return { own, ahead };
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
