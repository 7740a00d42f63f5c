/**
 * What the recording of frames costs the supervisor for each signature of three of five nodes: while no page looks, and while one reads
 * sessions. Nothing is sorted by session before a page asks.
 */
import { ReceiptState } from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { TranscriptFrame } from '../../../scenarios/faults/control.ts';
import { Recording } from '../../../scenarios/injection/recording.ts';
import { type Rate, repeat } from './repeat.ts';

export interface RecorderRates {
  readonly alone: Rate;
  readonly withPage: Rate;
}

/** As in a signature with nonces at hand: two calls, then a request and a reply of each of three nodes. */
const points = [
  ...calls('call', 'call_reply', 'call'),
  ...[1, 2, 3].map((node) => ({ point: 'partial_request', from: 'coordinator', to: `node/${node}` }) as const),
  ...[1, 2, 3].map((node) => ({ point: 'partial_reply', from: `node/${node}`, to: 'coordinator' }) as const),
  ...calls('call_reply'),
];
const none: readonly string[] = Object.freeze([]);
/** Ten reads a second at 1,000 signatures a second. */
const signaturesPerRead = 100;

export function recorderRates(forMs: number): RecorderRates {
  return { alone: rateOf(forMs, false), withPage: rateOf(forMs, true) };
}

function rateOf(forMs: number, isRead: boolean): Rate {
  const recording = new Recording();
  let made = 0;
  return repeat(() => {
    made += 1;
    const session = `sig_${made}`;
    const outcome = { session, state: ReceiptState.BACKEND_COMPLETED, reasonCode: 'COMPLETED' };
    for (let index = 0; index < points.length; index += 1) {
      const { point, from, to } = points[index]!;
      // As the recorder of a link makes it.
      const frame: TranscriptFrame = {
        kind: 'frame',
        atMs: made,
        arrivesMs: [made],
        from,
        to,
        point,
        tenant: 'tn_1',
        session,
        attempt: 1,
        bytes: 200,
        text: point,
        faults: none,
      };
      recording.add(frame, point === 'call_reply' ? outcome : undefined);
    }
    if (isRead && made % signaturesPerRead === 0) recording.sessions.totals(made);
  }, forMs);
}

function calls(...kinds: readonly ('call' | 'call_reply')[]) {
  return kinds.map((point) =>
    point === 'call'
      ? { point, from: 'gateway/1', to: 'coordinator' }
      : { point, from: 'coordinator', to: 'gateway/1' },
  );
}
