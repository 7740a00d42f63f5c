/**
 * The two hosts of the kernel behind one face, so that one suite holds both to the same laws. The store answers when the
 * test says so.
 */
import type {
  ActorEvent,
  Behaviour,
  Context,
  Effect,
  Envelope,
  Input,
  Step,
  UndeliveredReason,
} from '../../../../core/actors/contract.ts';
import { noTrace } from '../../../../core/actors/contract.ts';
import type { AnyBehaviour } from '../../../../core/actors/kernel/cell.ts';
import type { DeadLetter, Found, Written } from '../../../../core/actors/kernel/host.ts';
import type { Log } from '../../../../core/actors/live/ports.ts';
import { LiveSystem } from '../../../../core/actors/live/system.ts';
import { Machine } from '../../../../simulation/cluster/machine.ts';
import { randomStream } from '../../../../simulation/cluster/random.ts';
import { VirtualTime } from '../../../../simulation/cluster/virtual-time.ts';
import { until } from '../../../support/until.ts';

export type Write = { readonly key: string; readonly value: string };
export type In = Input<string, Write, string>;
export type Fx = Effect<string, Write>;

export interface HostOptions {
  readonly behaviours: readonly AnyBehaviour<string, Write, string>[];
  /** Takes messages for other processes; by default they are on their way. */
  readonly send?: (envelope: Envelope<string>) => UndeliveredReason | undefined;
  readonly onEvent?: (event: ActorEvent, host: Host) => void;
  readonly log?: Log;
}

export interface Host {
  /** An actor's input may wait for `settle`. */
  deliver(envelope: Envelope<string>, fresh?: boolean): UndeliveredReason | undefined;
  /** Runs whatever can run now. */
  settle(): Promise<void>;
  /** Lets time pass until the condition holds. */
  until(condition: () => boolean, what: string): Promise<unknown>;
  /** What left for other processes. */
  readonly sent: Envelope<string>[];
  readonly emitted: ActorEvent[];
  readonly letters: { readonly letter: DeadLetter; readonly message: string | undefined }[];
  /** Asked of the store, in order. */
  readonly writes: { readonly write: Write; readonly answer: (written: Written<string>) => void }[];
  readonly loads: { readonly key: string; readonly answer: (found: Found<string>) => void }[];
  stop(): Promise<void>;
}

type Seen = Pick<Host, 'sent' | 'emitted' | 'letters' | 'writes' | 'loads'>;

const nothingSeen = (): Seen => ({ sent: [], emitted: [], letters: [], writes: [], loads: [] });

export function liveHost({
  behaviours,
  send,
  onEvent,
  log,
}: HostOptions): Host & { readonly system: LiveSystem<string, Write, string> } {
  const seen = nothingSeen();
  const system = new LiveSystem<string, Write, string>({
    behaviours,
    ...(log && { log }),
    store: {
      write: (write) =>
        new Promise((resolve, reject) => {
          const answer = (written: Written<string>) =>
            written.kind === 'unavailable' ? reject(new Error(written.message)) : resolve(written);
          seen.writes.push({ write, answer });
        }),
      load: (key) =>
        new Promise((resolve, reject) => {
          const answer = (found: Found<string>) =>
            'kind' in found ? reject(new Error(found.message)) : resolve(found.record);
          seen.loads.push({ key, answer });
        }),
    },
    transport: {
      send: (envelope) => {
        seen.sent.push(envelope);
        return send?.(envelope);
      },
    },
    describe: (message) => message.split(' ')[0] ?? '',
    onEvent: (_address, event) => {
      seen.emitted.push(event);
      onEvent?.(event, host);
    },
    onDeadLetter: (letter, envelope) => seen.letters.push({ letter, message: envelope?.message }),
  });
  const host = {
    ...seen,
    system,
    deliver: (envelope: Envelope<string>, fresh?: boolean) => system.deliver(envelope, fresh),
    settle: () => new Promise<void>((resolve) => setImmediate(resolve)),
    until,
    stop: () => system.stop(),
  };
  return host;
}

export function simulatedHost({
  behaviours,
  send,
  onEvent,
  onBug,
}: HostOptions & { readonly onBug?: 'throw' }): Host & {
  readonly time: VirtualTime;
  readonly machine: Machine<string, Write, string>;
  readonly bugs: readonly string[];
} {
  const seen = nothingSeen();
  const time = new VirtualTime();
  const bugs: string[] = [];
  const machine = new Machine<string, Write, string>(
    {
      time,
      nowMs: () => time.nowMs(),
      random: randomStream('machine', 'test'),
      send: (envelope) => {
        seen.sent.push(envelope);
        return send?.(envelope);
      },
      emit: (_address, event) => {
        seen.emitted.push(event);
        onEvent?.(event, host);
      },
      stepped: undefined,
      bug: onBug === 'throw' ? undefined : (address, error) => void bugs.push(`${address}: ${error}`),
      deadLetter: (letter, envelope) => void seen.letters.push({ letter, message: envelope?.message }),
    },
    behaviours,
    {
      write: (write, answer) => void seen.writes.push({ write, answer }),
      load: (key, answer) => void seen.loads.push({ key, answer }),
    },
  );
  const host = {
    ...seen,
    time,
    machine,
    bugs,
    deliver: (envelope: Envelope<string>, fresh?: boolean) => machine.deliver(envelope, fresh),
    // Less than any timer of the tests.
    settle: async () => time.advance(0.01),
    until: async (condition: () => boolean, what: string) => {
      if (!time.runUntil(condition)) throw new Error(`never came true: ${what}`);
    },
    stop: async () => machine.crash(),
  };
  return host;
}

/** An actor that notes every input and answers with what `react` says. */
export function scripted(
  react: (input: In, state: string, context: Context) => Step<string, string, Write> | readonly Fx[] | undefined,
  parts: Partial<Behaviour<string, string, Write, string>> = {},
) {
  const seen: { input: In; state: string }[] = [];
  const behaviour: Behaviour<string, string, Write, string> = {
    prefix: 'a',
    mailboxMax: 1_000,
    durableKey: () => undefined,
    start: (record) => ({ state: record ?? 'new', effects: [] }),
    receive: (state, input, context) => {
      seen.push({ input, state });
      const answer = react(input, state, context);
      if (answer === undefined) return { state, effects: [] };
      return 'effects' in answer ? answer : { state, effects: answer };
    },
    ...parts,
  };
  return { seen, behaviour };
}

export const tell = (message: string, to = 'a/1', from = 'caller'): Envelope<string> => ({
  from,
  to,
  message,
  trace: { ...noTrace, correlationId: `c-${message}` },
});

export const texts = (seen: readonly { input: In }[]) =>
  seen.map(({ input }) => (input.kind === 'message' ? input.message : input.kind));

export const persist: Fx = { kind: 'persist', write: { key: 'k', value: 'v' } };
