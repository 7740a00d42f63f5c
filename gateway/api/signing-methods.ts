/**
 * The five RPCs of svc.mesh.v1.MpcWalletService in one table. The HTTP routes and the gRPC service definition derive from it.
 * Names, messages and HTTP paths come from the proto descriptor itself (the google.api.http option), so that they cannot drift
 * from the contract; this table adds only the scope. The wire's cases have the names of the RPCs.
 */
import { type DescMessage, type DescMethod, getOption } from '@bufbuild/protobuf';
import { http } from '../../proto/gen/google/api/annotations_pb.ts';
import { MpcWalletService } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { beginsSession, type CallRequest } from '../../proto/wire.ts';
import type { Scope } from './scopes.ts';

export interface SigningMethod {
  /** As the proto names it, e.g. "InitiateSigning". */
  readonly name: string;
  /** Its case in a Call frame, and in the reply. */
  readonly method: RpcName;
  /** e.g. "/v1/signing/initiate". Always POST with the whole request as body. */
  readonly httpPath: string;
  /** e.g. "/svc.mesh.v1.MpcWalletService/InitiateSigning". */
  readonly grpcPath: string;
  readonly requirement: {
    readonly scope: Scope;
    readonly limitClass: 'signing';
    readonly loadClass: 'signing' | 'continuing';
  };
  readonly request: DescMessage;
  readonly response: DescMessage;
}

export type RpcName = keyof typeof MpcWalletService.method;

const scopes: Readonly<Record<RpcName, Scope>> = {
  initiateDkg: 'signing:dkg',
  exchangeDkgShares: 'signing:dkg',
  initiateSigning: 'signing:initiate',
  submitSignatureShare: 'signing:share',
  resumeSession: 'signing:resume',
};

/** In the order of the proto. */
export const signingMethods: readonly SigningMethod[] = (Object.keys(MpcWalletService.method) as RpcName[]).map(
  (rpcName) => {
    const rpc: DescMethod = MpcWalletService.method[rpcName];
    return {
      name: rpc.name,
      method: rpcName,
      httpPath: httpPathOf(rpc),
      grpcPath: `/${rpc.parent.typeName}/${rpc.name}`,
      requirement: {
        scope: scopes[rpcName],
        limitClass: 'signing',
        loadClass: beginsSession(rpcName) ? 'signing' : 'continuing',
      },
      request: rpc.input,
      response: rpc.output,
    };
  },
);

/** The request of a call frame. `message`: decoded by the method's own schema, which the types cannot say. */
export function callRequest({ method }: SigningMethod, message: object): CallRequest {
  return { case: method, value: message } as CallRequest;
}

/** The path of `post: "…" body: "*"`; any other mapping is a mistake in the proto that stops the process at its start. */
function httpPathOf(rpc: DescMethod): string {
  const { pattern, body } = getOption(rpc, http);
  if (pattern.case !== 'post' || body !== '*') throw new Error(`${rpc.name}: the HTTP mapping must be a POST of "*"`);
  return pattern.value;
}
