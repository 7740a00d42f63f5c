/**
 * The five RPCs of svc.mesh.v1.MpcWalletService in one table. Both doors are made from it: the HTTP routes and the gRPC
 * service definition. Names, messages and HTTP paths come from the proto descriptor itself (the google.api.http option),
 * so that they cannot drift from the contract; only the scope and the wire's method number are said here.
 */
import { type DescMessage, type DescMethod, getOption } from '@bufbuild/protobuf';
import type { Scope } from '../../api/scopes.ts';
import { http } from '../../proto/gen/google/api/annotations_pb.ts';
import { Method } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import { MpcWalletService } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { Requirement } from '../auth/admission.ts';

export interface SigningMethod {
  /** As the proto names it, e.g. "InitiateSigning". */
  readonly name: string;
  /** The number in a Call frame. */
  readonly method: Method;
  /** e.g. "/v1/signing/initiate". Always POST with the whole request as body. */
  readonly httpPath: string;
  /** e.g. "/svc.mesh.v1.MpcWalletService/InitiateSigning". */
  readonly grpcPath: string;
  readonly requirement: Requirement;
  readonly request: DescMessage;
  readonly response: DescMessage;
}

type RpcName = keyof typeof MpcWalletService.method;

const ours: Readonly<Record<RpcName, { readonly method: Method; readonly scope: Scope }>> = {
  initiateDkg: { method: Method.INITIATE_DKG, scope: 'signing:dkg' },
  exchangeDkgShares: { method: Method.EXCHANGE_DKG_SHARES, scope: 'signing:dkg' },
  initiateSigning: { method: Method.INITIATE_SIGNING, scope: 'signing:initiate' },
  submitSignatureShare: { method: Method.SUBMIT_SIGNATURE_SHARE, scope: 'signing:share' },
  resumeSession: { method: Method.RESUME_SESSION, scope: 'signing:resume' },
};

/** In the order of the proto. */
export const signingMethods: readonly SigningMethod[] = (Object.keys(MpcWalletService.method) as RpcName[]).map(
  (rpcName) => {
    const rpc: DescMethod = MpcWalletService.method[rpcName];
    const { method, scope } = ours[rpcName];
    return {
      name: rpc.name,
      method,
      httpPath: httpPathOf(rpc),
      grpcPath: `/${rpc.parent.typeName}/${rpc.name}`,
      requirement: { scope, limitClass: 'signing' },
      request: rpc.input,
      response: rpc.output,
    };
  },
);

/** The path of `post: "…" body: "*"`; any other mapping is a mistake in the proto that stops the process at its start. */
function httpPathOf(rpc: DescMethod): string {
  const { pattern, body } = getOption(rpc, http);
  if (pattern.case !== 'post' || body !== '*') throw new Error(`${rpc.name}: the HTTP mapping must be a POST of "*"`);
  return pattern.value;
}
