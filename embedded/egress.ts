/** How the workers of an embedded service reach webhook receivers: over real connections, as a worker process does. */
import type { Connections } from '../delivery/egress/connections.ts';
import type { Send, SendOutcome } from '../delivery/egress/public.ts';
import type { ProcessLife } from '../world/process-life.ts';

type SendTo = typeof import('../delivery/egress/send.ts').sendTo;

export class RealEgress {
  #parts: Promise<{ readonly sendTo: SendTo; readonly connections: Connections }> | undefined;

  /** Of one life of a worker: a dead one gets no outcome. */
  readonly sender = (life: ProcessLife): Send => {
    return (request) =>
      life.call<SendOutcome>('egress', request.url, (_fate, answer) => {
        this.#load()
          .then(({ sendTo, connections }) => sendTo(request, { environment: 'sandbox', connections }))
          .then(
            (outcome) => answer(() => outcome),
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

  /** At the first delivery: a start does not wait for an HTTP client. */
  #load() {
    this.#parts ??= Promise.all([
      import('../delivery/egress/send.ts'),
      import('../delivery/egress/connections.ts'),
    ]).then(([{ sendTo }, { Connections: Made }]) => ({ sendTo, connections: new Made() }));
    return this.#parts;
  }
}
