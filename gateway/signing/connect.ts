/** Puts the signing room on a link: replies go to the calls, the cluster's state to the view. */
import { type Log, silentLog } from '../../actors/live/ports.ts';
import { ClusterView } from './cluster-view.ts';
import { SigningCalls, type SigningCallsOptions } from './signing-calls.ts';

export interface SigningRoom {
  readonly calls: SigningCalls;
  readonly cluster: ClusterView;
}

export function connectSigning(options: SigningCallsOptions): SigningRoom {
  const log: Log = options.log ?? silentLog;
  const calls = new SigningCalls(options);
  const cluster = new ClusterView();
  options.link.listen({
    onMessage: ({ body }) => {
      if (body.case === 'callReply') calls.onReply(body.value);
      else if (body.case === 'clusterStatus') cluster.onStatus(body.value);
      else log.warn({ body: body.case }, 'a frame that is not for a gateway was dropped');
    },
    onStatus: (up) => {
      cluster.onLink(up);
      if (!up) calls.onLinkLost();
    },
  });
  return { calls, cluster };
}
