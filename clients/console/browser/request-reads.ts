/** What the page reads of requests with its token: the list when the panel opens, and one that is chosen. Runs in the browser. */

import type { SandboxRequest } from '../../client/generated-api.ts';
import type { Client } from '../../client/index.ts';
import { ApiError } from '../../client/index.ts';
import type { ConsoleStore } from './store.ts';

export interface RequestReader {
  /** The stream begins with the last ones alone. */
  wantList(): void;
  /** undefined: not read yet; null: it is gone, or another tenant's. */
  want(id: string): SandboxRequest | null | undefined;
}

const readMax = 50;

export function requestReads(client: Client, store: ConsoleStore, changed: () => void): RequestReader {
  let listed: unknown;
  const read = new Map<string, SandboxRequest | null | undefined>();
  return {
    wantList: () => {
      // After each connection: some may be missing.
      if (listed === store.hello) return;
      listed = store.hello;
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
      if (read.has(id)) return read.get(id);
      read.set(id, undefined);
      if (read.size > readMax) read.delete(read.keys().next().value!);
      client.sandbox.request(id, { attemptsMax: 1 }).then(
        (found) => {
          read.set(id, found);
          changed();
        },
        (error: unknown) => {
          if (error instanceof ApiError && error.status === 404) read.set(id, null);
          else read.delete(id);
          changed();
        },
      );
      return undefined;
    },
  };
}
