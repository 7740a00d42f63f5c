/**
 * What a sandbox's gateway asks the coordinator alone: what is known of a session, what a node would submit to it, keys of
 * keystore types that a client's InitiateDkg does not name, and how many nonces wait.
 */
import { create } from '@bufbuild/protobuf';
import { RefreshKeyRequestSchema } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import {
  InspectSessionRequestSchema,
  type InspectSessionResponse,
  PreviewPartialRequestSchema,
  type PreviewPartialResponse,
  ReadNoncePoolsRequestSchema,
} from '../../proto/gen/signmesh/wire/v1/sandbox_pb.ts';
import { Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { InitiateDkgResponse } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { type KeyScheme, wireScheme } from '../../proto/key-schemes.ts';
import type { RequestOf, ResponseOf } from '../../proto/wire.ts';
import { ServiceError } from '../api/errors/service-error.ts';
import type { ClusterView } from '../signing/cluster-view.ts';
import type { Calls, SigningCall } from '../signing/signing-calls.ts';

export interface Caller {
  readonly tenant: string;
  readonly traceparent: string;
  readonly requestId: string;
}

/** All throw ServiceError when there is no answer. */
export interface SandboxSessions {
  inspect(caller: Caller, sessionId: string): Promise<InspectSessionResponse>;
  preview(caller: Caller, sessionId: string, nodeId: number): Promise<PreviewPartialResponse>;
  /** As an InitiateDkg of the caller's, for a key of this scheme alone. */
  beginKey(caller: Caller, request: RequestOf<'initiateDkg'>, scheme: KeyScheme): Promise<InitiateDkgResponse>;
  /** New shares of the caller's key for its nodes. */
  refreshKey(caller: Caller, keyId: string, version: number, scheme: KeyScheme): Promise<ResponseOf<'refreshKey'>>;
  /** Of every cluster that answers. */
  noncePools(caller: Caller): Promise<readonly NoncePoolSize[]>;
}

export interface NoncePoolSize {
  readonly cluster: number;
  readonly node: number;
  readonly scheme: 'mock_ecdsa' | 'frost_ed25519' | 'frost_bip340';
  readonly waiting: number;
  readonly awaited: number;
}

const poolSchemes: Readonly<Partial<Record<Scheme, NoncePoolSize['scheme']>>> = {
  [Scheme.MOCK_ECDSA]: 'mock_ecdsa',
  [Scheme.FROST_ED25519]: 'frost_ed25519',
  [Scheme.FROST_BIP340]: 'frost_bip340',
};

export function sandboxSessions({
  calls,
  cluster: view,
}: {
  readonly calls: Calls;
  readonly cluster: Pick<ClusterView, 'clusters'>;
}): SandboxSessions {
  return {
    inspect: (caller, sessionId) =>
      call(calls, caller, 'inspectSession', create(InspectSessionRequestSchema, { sessionId })),
    preview: (caller, sessionId, nodeId) =>
      call(calls, caller, 'previewPartial', create(PreviewPartialRequestSchema, { sessionId, nodeId })),
    beginKey: (caller, request, scheme) =>
      call(calls, caller, 'initiateDkg', request, { keyScheme: wireScheme(scheme) }),
    refreshKey: (caller, keyId, version, scheme) =>
      call(
        calls,
        caller,
        'refreshKey',
        create(RefreshKeyRequestSchema, { keyId, version, scheme: wireScheme(scheme) }),
      ),
    noncePools: async (caller) => {
      const asked = create(ReadNoncePoolsRequestSchema);
      const read = async (cluster: number): Promise<readonly NoncePoolSize[]> => {
        const { pools } = await call(calls, caller, 'readNoncePools', asked, { cluster });
        return pools.flatMap(({ nodeId: node, scheme: wire, waiting, awaited }) => {
          const scheme = poolSchemes[wire];
          return scheme === undefined ? [] : [{ cluster, node, scheme, waiting, awaited }];
        });
      };
      const all = await Promise.allSettled(view.clusters.map(({ number }) => read(number)));
      return all.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
    },
  };
}

async function call<K extends 'refreshKey' | 'inspectSession' | 'previewPartial' | 'initiateDkg' | 'readNoncePools'>(
  calls: Calls,
  { tenant, traceparent, requestId }: Caller,
  asked: K,
  value: RequestOf<K>,
  how: Pick<SigningCall, 'keyScheme' | 'cluster'> = {},
): Promise<ResponseOf<K>> {
  const outcome = await calls.ask(asked, value, { tenant, correlationId: requestId, traceparent, ...how });
  if (outcome.failure === undefined) return outcome.response;
  const { kind, message } = outcome.failure;
  throw kind === 'deadlineExceeded' ? new ServiceError('unavailable', message) : outcome.failure;
}
