/** The gateway's port to a coordinator that is a whole simulated cluster: a call is answered as soon as it is sent. */
import { create } from '@bufbuild/protobuf';
import type { CoordinatorLink, LinkListener } from '../../../gateway/signing/coordinator-port.ts';
import { type Call, CallErrorCode, CallReplySchema } from '../../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import type { CallCase, CallRequest, WireMessage } from '../../../proto/wire.ts';
import type { SimCall, SimCaller, SimCluster } from '../../../simulation/cluster/cluster.ts';

export class SimLink implements CoordinatorLink {
  readonly #cluster: SimCluster;
  /** The answer to the call with this number, from 1, never arrives, though its effect stands. */
  loseAnswerOf = 0;
  calls: CallCase[] = [];
  /** What a malicious coordinator makes of a call. */
  change: (call: Call) => Call = (call) => call;
  /** What a malicious coordinator makes of a response. */
  lie: (response: object) => object = (response) => response;
  #listener: LinkListener | undefined;

  constructor(cluster: SimCluster) {
    this.#cluster = cluster;
  }

  send(message: WireMessage): undefined {
    const { callId } = message.body.value as Call;
    const { walletService, walletTerms, keyScheme, ...call } = this.change(message.body.value as Call);
    const request = call.request as CallRequest;
    this.calls.push(request.case);
    const caller = { walletService, keyScheme, ...(walletTerms && { walletTerms }) };
    // The kind of the request names the simulated call.
    const ask = this.#cluster[request.case] as (init: object, tenant: string, by: SimCaller) => SimCall<object>;
    const unavailable = (text: string) => ({
      case: 'error' as const,
      value: { code: CallErrorCode.UNAVAILABLE, message: text },
    });
    let outcome: object;
    try {
      outcome = { case: request.case, value: this.lie(ask(request.value, message.tenant, caller).result()) };
    } catch (error) {
      outcome = unavailable(String(error));
    }
    if (this.calls.length === this.loseAnswerOf) outcome = unavailable('lost');
    const value = create(CallReplySchema, { callId, outcome: outcome as never });
    queueMicrotask(() =>
      this.#listener?.onMessage({ tenant: '', session: '', attempt: 0, body: { case: 'callReply', value } }),
    );
  }

  listen(listener: LinkListener): void {
    this.#listener = listener;
    listener.onStatus(true);
  }
}
