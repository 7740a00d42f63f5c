/**
 * The URLs of inboxes: what a worker posts there is kept (gateway/sandbox/inboxes.ts), and answered as the armed faults of receivers say.
 * An inbox that has ended answers 410, which disables its webhook.
 */
import type { Timers } from '../../core/actors/contract.ts';
import { pause } from '../../core/actors/waiting.ts';
import { httpBodyBytesMax } from '../../proto/limits.ts';
import type { SandboxControl } from '../../scenarios/faults/control.ts';
import { type Inboxes, inboxPath } from '../sandbox/inboxes.ts';
import type { Endpoint, Reply } from './contract.ts';
import { anonymous } from './rest.ts';

/** Headers that say nothing of the delivery. */
const ofConnection: ReadonlySet<string> = new Set(['connection', 'host', 'content-length', 'transfer-encoding']);

export function inboxEndpoint(inboxes: Inboxes, control: SandboxControl | undefined, timers: Timers): Endpoint {
  return {
    method: 'POST',
    path: `${inboxPath}:key`,
    run: async ({ request, params, entry }): Promise<Reply> => {
      const inbox = inboxes.at((params as { readonly key: string }).key);
      if (inbox === undefined) return { status: 410 };
      // The requests of its tenant show that something came.
      entry.principal = { ...anonymous, tenant: inbox.tenant };
      const body = await request.body(httpBodyBytesMax);
      const { behaviour } = (await control?.ask('receiver.get', {}).catch(() => undefined)) ?? { behaviour: null };
      const { status = 200, slowMs = 0, reset = false } = behaviour ?? {};
      const headers = Object.fromEntries(
        Object.entries(request.headers).flatMap(([name, value]) =>
          typeof value !== 'string' || ofConnection.has(name) ? [] : [[name, value]],
        ),
      );
      inboxes.receive(inbox, headers, body, reset ? null : status);
      if (slowMs > 0) await pause(timers, slowMs);
      if (!reset) return { status };
      return {
        status: 200,
        stream: async function* (cut) {
          cut();
          yield '';
        },
      };
    },
  };
}
