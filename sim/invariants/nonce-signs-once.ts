/**
 * No nonce signs twice. Looked at from three sides: a node says with which nonce it signed; the coordinator names a nonce
 * when it asks for a partial; and for FROST and the mock alike the public point of the nonce is in the request.
 */
import { type PartialRequest, Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { WireEnvelope } from '../../proto/wire.ts';
import type { Checker, Observation } from '../observation.ts';
import { hexOf } from './sessions.ts';

export function nonceSignsOnce(): Checker {
  /** Node, scheme, both boots, number. */
  const signed = new Set<string>();
  /** The same, to what it was asked to sign. */
  const asked = new Map<string, string>();
  /** Nonce points, to what they were to sign. */
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
      // 0: mock ECDSA by a node that dealt no part of the nonce.
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

/** What a request asks to sign, and with which key: all that makes a second signature with its nonce another one. */
function contentOf({ keySession, derivationPath, message, signers }: PartialRequest, tenant: string): string {
  const set = signers.map(({ nodeId, hiding, binding }) => `${nodeId}:${hexOf(hiding)}:${hexOf(binding)}`);
  return `${tenant} ${keySession} ${derivationPath} ${hexOf(message)} ${set.join(' ')}`;
}
