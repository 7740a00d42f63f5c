/**
 * No nonce signs twice. Checked in three ways: a node names the nonce of its signature; the coordinator names a nonce in its
 * request for a partial; and for FROST and the mock alike the request has the public point of the nonce.
 */
import { type PartialRequest, Scheme } from '../../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { WireEnvelope } from '../../../proto/wire.ts';
import type { Checker, Observation } from '../observation.ts';
import { hexOf } from './sessions.ts';

export function nonceSignsOnce(): Checker {
  /** Node, scheme, both boots, number. */
  const signed = new Set<string>();
  /** The same, to the content of its request. */
  const asked = new Map<string, string>();
  /** Nonce points, to the content that they sign. */
  const points = new Map<string, string>();

  const once = (seen: Map<string, string>, name: string, content: string): boolean => {
    const before = seen.get(name);
    if (before === undefined) seen.set(name, content);
    return before === undefined || before === content;
  };

  function request({ to, message }: WireEnvelope, said: PartialRequest): string | undefined {
    const content = contentOf(said, message.tenant);
    const { scheme, nonceNumber, nodeBoot, coordinatorBoot } = said;
    const nonce = `${to} ${scheme} ${nodeBoot} ${coordinatorBoot} ${nonceNumber}`;
    if (nonceNumber !== 0n && !once(asked, nonce, `${message.session} ${content}`)) {
      return `${to} is asked to sign two contents with nonce ${nonceNumber} of ${nodeBoot} (${Scheme[scheme]})`;
    }
    if (scheme === Scheme.MOCK_ECDSA) {
      if (once(points, hexOf(said.noncePoint), content)) return undefined;
      return `one nonce point R stands in requests for two contents (session ${message.session})`;
    }
    for (const { nodeId, hiding } of said.signers) {
      if (once(points, hexOf(hiding), content)) continue;
      return `one nonce commitment of node ${nodeId} stands in requests for two contents (session ${message.session})`;
    }
    return undefined;
  }

  return {
    invariant: 'nonce-signs-once',
    observe(observation: Observation) {
      if (observation.kind === 'frame') {
        const { body } = observation.envelope.message;
        if (body.case !== 'partialRequest' || observation.touched) return undefined;
        return request(observation.envelope, body.value as PartialRequest);
      }
      if (observation.kind !== 'emitted' || observation.event.type !== 'signer.partial.signed') return undefined;
      const { boot, coordinatorBoot, scheme, nonce, session } = observation.event.fields;
      // 0: mock ECDSA by a node that made no part of the nonce.
      if (nonce === 0) return undefined;
      const name = `${observation.address} ${scheme} ${boot} ${coordinatorBoot} ${nonce}`;
      if (signed.has(name)) {
        return `${observation.address} signed twice with nonce ${nonce} of ${boot} (${Scheme[Number(scheme)]}), the second time in session ${session}`;
      }
      signed.add(name);
      return undefined;
    },
  };
}

/** The content of a request, and its key: everything that would make a second signature with its nonce a different one. */
function contentOf({ keySession, derivationPath, message, signers }: PartialRequest, tenant: string): string {
  const set = signers.map(({ nodeId, hiding, binding }) => `${nodeId}:${hexOf(hiding)}:${hexOf(binding)}`);
  return `${tenant} ${keySession} ${derivationPath} ${hexOf(message)} ${set.join(' ')}`;
}
