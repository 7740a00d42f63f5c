/**
 * Connections to one checked address. They may be reused between deliveries, to save a new connection and TLS handshake each
 * time. Reuse does not weaken the address check: every delivery resolves the name and checks every address again, and reuses a
 * connection only if it goes to the chosen address.
 */
import { isIP, type LookupFunction } from 'node:net';
import { type Client, Pool } from 'undici';

/** Shorter than the usual timeout of servers: a write to a connection that its server has just closed fails. */
const idleMs = 1_000;
const idleMaxMs = 10_000;
/** Places that connections are kept for; beyond that the one that was used least lately is let go. */
const placesMax = 1_000;

export class Connections {
  /** By origin, address and timeout; the one that was used least lately first. */
  readonly #pools = new Map<string, Pool>();

  to(origin: string, address: string, timeoutMs: number): Pool {
    const key = `${origin} ${address} ${timeoutMs}`;
    const pool = this.#pools.get(key) ?? new Pool(origin, { ...pinned(address, timeoutMs), connections: null });
    this.#pools.delete(key);
    this.#pools.set(key, pool);
    for (const [oldest, unused] of this.#pools) {
      if (this.#pools.size <= placesMax) break;
      this.#pools.delete(oldest);
      // What is under way there ends first.
      unused.close().catch(() => undefined);
    }
    return pool;
  }

  /** Cuts everything. */
  async stop(): Promise<void> {
    const pools = [...this.#pools.values()];
    this.#pools.clear();
    await Promise.all(pools.map((pool) => pool.destroy().catch(() => undefined)));
  }
}

/** TLS still checks the certificate against the name: only the address is fixed. */
export function pinned(address: string, timeoutMs: number): Client.Options {
  const family = isIP(address);
  const lookup: LookupFunction = (_host, options, done) => {
    if (options.all) done(null, [{ address, family }]);
    else done(null, address, family);
  };
  return {
    connect: { lookup, timeout: timeoutMs },
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    keepAliveTimeout: idleMs,
    keepAliveMaxTimeout: idleMaxMs,
    pipelining: 1,
    maxHeaderSize: 16 * 1024,
  };
}
