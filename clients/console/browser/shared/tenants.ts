/**
 * The tokens that this tab holds, one for each person of each tenant: whose calls the page makes, and whose sessions and wallets it
 * reads. The first is the one that reads the stream. The others stay in the tab's sessionStorage. Runs in the browser.
 */
import { pageReadsHeader } from '../../../../core/pages/page-reads.ts';
import { type Client, type ClientOptions, createClient } from '../../../client/index.ts';
import type { ConsoleBrowser } from './dom.ts';
import type { ConsoleStore } from './store.ts';

export interface HeldToken {
  readonly token: string;
  readonly tenant: string;
  /** Who acts with it, as approvals name it. */
  readonly actor: string;
  readonly scopes: readonly string[];
}

export interface Tenants {
  /** The page's own first. */
  readonly held: readonly HeldToken[];
  /** undefined: the page does not know yet whose its own token is. */
  readonly acting: HeldToken | undefined;
  /** Of whom acts. */
  readonly client: Client;
  /** Reads and steps what is this tenant's; undefined: no token of it is held. */
  clientOf(tenant: string): Client | undefined;
  /** Acts as this person, whose token is held. */
  clientAs(held: HeldToken): Client;
  /** The page's own token is another one now. */
  own(): Promise<void>;
  /** Rejects when the token opens nothing. */
  add(token: string): Promise<HeldToken>;
  act(actor: string): void;
  forget(actor: string): void;
}

/** Tenants of the ceremonies that the page knows, and of whom it holds no token. */
export function strangers(
  { sessions }: Pick<ConsoleStore, 'sessions'>,
  held: readonly Pick<HeldToken, 'tenant'>[],
): readonly { readonly tenant: string; readonly ceremonies: number }[] {
  const counts = new Map<string, number>();
  for (const { tenant } of sessions.values())
    if (!held.some((one) => one.tenant === tenant)) counts.set(tenant, (counts.get(tenant) ?? 0) + 1);
  return [...counts]
    .map(([tenant, ceremonies]) => ({ tenant, ceremonies }))
    .sort((a, b) => b.ceremonies - a.ceremonies);
}

/** A client whose reads are the page's own. */
export function pageClient(
  page: Pick<ConsoleBrowser, 'location' | 'fetch'>,
  token: NonNullable<ClientOptions['token']>,
): Client {
  const fetch: ClientOptions['fetch'] = (url, init = {}) =>
    page.fetch(url, isRead(init) ? { ...init, headers: { ...init.headers, [pageReadsHeader]: '1' } } : init);
  return createClient({ baseUrl: page.location.origin, token, clientName: 'signmesh-console', fetch });
}

function isRead({ method = 'GET' }: RequestInit): boolean {
  return method === 'GET';
}

const heldEntry = 'signmesh-tokens';
const heldMax = 20;

/** `client`: with the page's own token. */
export function makeTenants(
  page: Pick<ConsoleBrowser, 'location' | 'sessionStorage' | 'fetch'>,
  client: Client,
  ownToken: () => string,
  changed: () => void,
): Tenants {
  let own: HeldToken | undefined;
  let others = stored(page.sessionStorage.getItem(heldEntry));
  let actor = '';
  const clients = new Map<string, Client>();
  const clientWith = ({ token }: HeldToken): Client => {
    if (token === own?.token) return client;
    const found = clients.get(token) ?? pageClient(page, token);
    clients.set(token, found);
    return found;
  };
  const describe = async (token: string): Promise<HeldToken> => ({
    token,
    ...(await client.sandbox.tokenOwner({ token })),
  });
  const keep = (next: readonly HeldToken[]) => {
    others = next;
    page.sessionStorage.setItem(heldEntry, JSON.stringify(others));
    changed();
  };
  const held = () => [...(own === undefined ? [] : [own]), ...others.filter((one) => one.actor !== own?.actor)];
  const acting = () => held().find((one) => one.actor === actor) ?? own;
  return {
    get held() {
      return held();
    },
    get acting() {
      return acting();
    },
    get client() {
      const found = acting();
      return found === undefined ? client : clientWith(found);
    },
    clientOf: (tenant) => {
      if (own === undefined && others.length === 0) return client;
      const found = [acting(), ...held()].find((one) => one?.tenant === tenant);
      return found && clientWith(found);
    },
    clientAs: clientWith,
    own: async () => {
      const token = ownToken();
      if (own?.token === token) return;
      own = undefined;
      try {
        const described = await describe(token);
        if (token === ownToken()) own = described;
      } catch {
        // The page acts with its token all the same; at the next connection it asks again.
      }
      changed();
    },
    add: async (token) => {
      const added = await describe(token);
      keep([...others.filter((one) => one.actor !== added.actor), added].slice(-heldMax));
      return added;
    },
    act: (to) => {
      actor = to;
      changed();
    },
    forget: (gone) => keep(others.filter((one) => one.actor !== gone)),
  };
}

function stored(text: string | null): readonly HeldToken[] {
  try {
    const found = JSON.parse(text ?? '[]') as unknown;
    return Array.isArray(found) ? (found as HeldToken[]).filter(({ token, actor }) => token && actor) : [];
  } catch {
    return [];
  }
}
