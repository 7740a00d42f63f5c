/** An in-memory coordinator behind the gateway's port: remembers what was sent and answers as it is told. */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { Trace, UndeliveredReason } from '../../core/actors/contract.ts';
import type { CoordinatorLink, LinkListener } from '../../gateway/signing/coordinator-port.ts';
import {
  type Call,
  CallErrorCode,
  CallReplySchema,
  ClusterStatusSchema,
} from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import type { CallResponse, WireMessage } from '../../proto/wire.ts';

export interface SentCall {
  readonly tenant: string;
  readonly call: Call;
  readonly trace: Trace;
  /** The request's value. */
  readonly request: Record<string, unknown>;
}

export type Answer =
  /** Of the request's own kind, or of another. */
  | { readonly response: Record<string, unknown>; readonly of?: CallResponse['case'] }
  | { readonly error: CallErrorCode; readonly message?: string }
  | 'silence';

export const healthyCluster: MessageInitShape<typeof ClusterStatusSchema> = {
  nodesTotal: 5,
  nodesReady: [1, 2, 3, 4, 5],
  quorum: 3,
  storeReady: true,
  cryptoBackend: 'native',
  coordinatorBoot: 'boot-1',
};

/** What every response has: a receipt and a checkpoint. */
export const proof = {
  receipt: { receiptId: 'rcp_1', state: 1, reasonCode: 'SESSION_ACCEPTED', epoch: 1n, contractVersion: '1.0' },
  checkpoint: { checkpointId: 'ckp_1', epoch: 1n, createdAtEpochMs: 1_790_000_000_000n, state: 1 },
};

export class FakeCoordinator implements CoordinatorLink {
  readonly sent: SentCall[] = [];
  /** Decides on every call; by default a response with a receipt and a checkpoint. */
  answer: (sent: SentCall) => Answer = () => ({ response: proof });
  /** What `send` returns instead of sending. */
  refuse: UndeliveredReason | undefined;
  #listener: LinkListener | undefined;
  #up = true;
  #waiters: (() => void)[] = [];

  send(message: WireMessage, trace: Trace): UndeliveredReason | undefined {
    if (!this.#up) return 'noRoute';
    if (this.refuse !== undefined) return this.refuse;
    if (message.body.case !== 'call') throw new Error('a gateway sends calls alone');
    const call = message.body.value as Call;
    const request = call.request.value as unknown as Record<string, unknown>;
    const sent: SentCall = { tenant: message.tenant, call, trace, request };
    this.sent.push(sent);
    const answer = this.answer(sent);
    queueMicrotask(() => this.reply(sent, answer));
    for (const waiter of this.#waiters.splice(0)) waiter();
    return undefined;
  }

  listen(listener: LinkListener): void {
    this.#listener = listener;
    listener.onStatus(this.#up);
  }

  reply({ call }: SentCall, answer: Answer): void {
    if (answer === 'silence') return;
    const { case: asked } = call.request;
    const outcome =
      'error' in answer
        ? { case: 'error', value: { code: answer.error, message: answer.message ?? '' } }
        : { case: answer.of ?? asked, value: answer.response };
    const value = create(CallReplySchema, { callId: call.callId, outcome: outcome as never });
    this.#listener?.onMessage({ tenant: '', session: '', attempt: 0, body: { case: 'callReply', value } });
  }

  status(init: MessageInitShape<typeof ClusterStatusSchema>): void {
    const value = create(ClusterStatusSchema, init);
    this.#listener?.onMessage({ tenant: '', session: '', attempt: 0, body: { case: 'clusterStatus', value } });
  }

  link(up: boolean): void {
    this.#up = up;
    this.#listener?.onStatus(up);
  }

  /** Resolves when `count` calls were sent in all. */
  async sentCount(count: number): Promise<void> {
    while (this.sent.length < count) await new Promise<void>((resolve) => this.#waiters.push(resolve));
  }

  get last(): SentCall {
    const last = this.sent.at(-1);
    if (last === undefined) throw new Error('nothing was sent');
    return last;
  }
}

export { CallErrorCode };
