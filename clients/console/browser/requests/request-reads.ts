/** What the page reads of requests with its tokens: the list when the panel opens, and one that is chosen. Runs in the browser. */
import type { SandboxRequest } from '../../../client/generated-api.ts';
import { ApiError, type Client } from '../../../client/index.ts';
import type { ConsoleStore } from '../shared/store.ts';
import type { Tenants } from '../shared/tenants.ts';

export interface RequestReader {
  /** The stream begins with the last ones alone. */
  wantList(): void;
  /** undefined: not read yet; null: it is gone, or no token of its tenant is held. */
  want(id: string): SandboxRequest | null | undefined;
}

const readMax = 50;

export function requestReads(
  tenants: Pick<Tenants, 'client' | 'clientOf'>,
  store: ConsoleStore,
  changed: () => void,
): RequestReader {
  /** With what client, after what connection. */
  let listed: { readonly client: Client; readonly hello: unknown } | undefined;
  const read = new Map<string, { readonly client: Client; value: SandboxRequest | null | undefined }>();
  return {
    wantList: () => {
      const { client } = tenants;
      // After each connection: some may be missing.
      if (listed?.hello === store.hello && listed?.client === client) return;
      listed = { client, hello: store.hello };
      client.sandbox
        .requests({ limit: 1_000 }, { attemptsMax: 1 })
        .first()
        .then(
          ({ requests }) => {
            store.addRequests(requests);
            changed();
          },
          () => undefined,
        );
    },
    want: (id) => {
      const tenant = store.requests.find((one) => one.id === id)?.tenant ?? null;
      const client = tenant === null ? tenants.client : tenants.clientOf(tenant);
      if (client === undefined) return null;
      const known = read.get(id);
      if (known?.client === client) return known.value;
      const entry: { client: Client; value: SandboxRequest | null | undefined } = { client, value: undefined };
      read.set(id, entry);
      if (read.size > readMax) read.delete(read.keys().next().value!);
      client.sandbox.request(id, { attemptsMax: 1 }).then(
        (found) => {
          entry.value = found;
          changed();
        },
        (error: unknown) => {
          if (error instanceof ApiError && error.status === 404) entry.value = null;
          else read.delete(id);
          changed();
        },
      );
      return undefined;
    },
  };
}
