/** Connects the workers of an embedded service to webhook receivers: over real connections, as a worker process does. */
import type { Connections } from '../../wallets/delivery/egress/connections.ts';
import type { Send, SendOutcome } from '../../wallets/delivery/egress/public.ts';
import type { ProcessLife } from '../service/process-life.ts';

type SendTo = typeof import('../../wallets/delivery/egress/send.ts').sendTo;

/** The result of a request to a receiver. */
export interface ReceiverNote {
  /** The id of the event in it; undefined: none. */
  readonly type: string | undefined;
  /** In the words of scenarios. */
  readonly answer: number | 'never' | 'reset';
}

export class RealEgress {
  readonly #hears: ((url: string, note: ReceiverNote) => void) | undefined;
  #parts: Promise<{ readonly sendTo: SendTo; readonly connections: Connections }> | undefined;

  /** `hears` gets every request to a receiver. */
  constructor(hears?: (url: string, note: ReceiverNote) => void) {
    this.#hears = hears;
  }

  /** Of one life of a worker: a dead worker gets no outcome. */
  readonly sender = (life: ProcessLife): Send => {
    return (request) =>
      life.call<SendOutcome>('egress', request.url, (_fate, answer) => {
        this.#load()
          .then(({ sendTo, connections }) => sendTo(request, { environment: 'sandbox', connections }))
          .then(
            (outcome) => {
              this.#hears?.(request.url, { type: typeOf(request.body), answer: answerOf(outcome) });
              answer(() => outcome);
            },
            (error: unknown) =>
              answer(() => {
                throw error;
              }),
          );
      });
  };

  async stop(): Promise<void> {
    await (await this.#parts)?.connections.stop();
  }

  /** Loaded at the first delivery: a start does not wait for an HTTP client. */
  #load() {
    this.#parts ??= Promise.all([
      import('../../wallets/delivery/egress/send.ts'),
      import('../../wallets/delivery/egress/connections.ts'),
    ]).then(([{ sendTo }, { Connections: Made }]) => ({ sendTo, connections: new Made() }));
    return this.#parts;
  }
}

function typeOf(body: Buffer): string | undefined {
  const { type } = JSON.parse(body.toString('utf8')) as { readonly type?: string };
  return type;
}

function answerOf(outcome: SendOutcome): ReceiverNote['answer'] {
  if (outcome.kind === 'answered') return outcome.status;
  return outcome.code === 'timeout' ? 'never' : 'reset';
}
