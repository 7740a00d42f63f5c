/** What a running sandbox does, as an endless iterator over broken connections. */
import type { CallOptions, Operation } from './contract.ts';
import { messages, refuseForGood } from './follow.ts';
import type { SandboxStreamMessage } from './generated-api.ts';
import { type Names, needKnown } from './known-options.ts';
import type { Transport } from './transport.ts';

export interface SandboxStreamOptions extends Pick<CallOptions, 'signal'> {
  /** E.g. `['sessions', 'faults']`; all by default. */
  readonly topics?: readonly string[];
  /** Frames and sessions of this tenant alone. */
  readonly tenant?: string;
  /** Begin after this `next` of a message; by default now. */
  readonly after?: string;
  /** The limit of connections in a row without any data; unlimited by default. */
  readonly attemptsMax?: number;
}

const operation: Operation = { id: 'streamSandbox', method: 'GET', path: '/v1/sandbox/stream', repeat: 'always' };
const optionNames: Names<SandboxStreamOptions> = {
  signal: true,
  topics: true,
  tenant: true,
  after: true,
  attemptsMax: true,
};

/** Ends and rejects as `events.follow` does; what was lost, the messages say. */
export async function* sandboxStream(
  transport: Transport,
  options: SandboxStreamOptions,
): AsyncGenerator<SandboxStreamMessage, void, undefined> {
  needKnown('sandbox.stream', options, optionNames);
  const { topics, tenant, after, ...following } = options;
  let place = after;
  const query = { topics: topics?.join(','), tenant };
  const source = { operation, query, lastId: () => place, refuse: refuseForGood };
  for await (const { data } of messages(transport, source, following)) {
    if (data === undefined) continue;
    const message = JSON.parse(data) as SandboxStreamMessage;
    if (message.next !== '') place = message.next;
    yield message;
  }
}
