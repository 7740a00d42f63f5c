/**
 * No secret in clear. The checker learns the secrets of a run as they appear: key shares, polynomials, sealing seeds and received
 * shares from the nodes' stores; mock nonces and their inverses from the frames that may carry them; identity seeds and similar
 * secrets from the world; resume tokens and witnesses from calls and answers.
 *
 * The places where a secret may appear:
 * - Events of actors and of the log: no secret, in hex, in base64, or as text.
 * - Frames: no secret of the nodes. By protocol a complaint reveals a sealing seed; a client-supplied share is the caller's own;
 *   mock nonces go to the coordinator and their inverses to the signers, which is the mock.
 * - Resume tokens and witnesses travel only in calls and answers.
 */
import type { NodeWrite } from '../../../nodes/records/records.ts';
import type { DkgVerified } from '../../../proto/gen/signmesh/wire/v1/dkg_pb.ts';
import type { NoncesDealt, PartialReply, PartialRequest } from '../../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { WireEnvelope } from '../../../proto/wire.ts';
import type { Checker, Observation } from '../observation.ts';
import { dkgRecordsIn, keyRecordsIn } from './node-records.ts';
import { hexOf } from './sessions.ts';

/** Hex, base64 or base64url of at least 32 bytes. */
const longRuns = /[A-Za-z0-9+/_-]{43,}/g;
const secretBytes = 32;

export function noSecretInClear(secrets: () => readonly Uint8Array[]): Checker {
  /** Secrets of nodes, hex. */
  const known = new Set<string>();
  /** Secrets that a complaint may reveal. */
  const sealing = new Set<string>();
  /** Mock nonces and inverses; checked only when a text could hold one. */
  const nonces = new Set<string>();
  let dealt: NoncesDealt[] = [];
  let started = false;
  const witnesses = new Set<string>();

  function learnFrom(write: NodeWrite): void {
    for (const { key } of keyRecordsIn(write)) known.add(key.signing_share);
    for (const { dkg } of dkgRecordsIn(write)) {
      if (dkg.dealing) {
        for (const scalar of dkg.dealing.polynomial) known.add(scalar);
        known.add(dkg.dealing.sealing_seed).add(dkg.dealing.box_seed);
        sealing.add(dkg.dealing.sealing_seed);
      }
      for (const { share } of dkg.dealers ?? []) if (share !== undefined) known.add(share);
      if (dkg.key_package) known.add(dkg.key_package.signing_share);
    }
    // A token holds the key: the node's records have no secret.
    known.delete('');
  }

  /** Whether a text contains one of the secrets, in any notation. */
  function isInText(text: string): boolean {
    if (text.includes('rt1_')) return true;
    for (const witness of witnesses) if (text.includes(witness)) return true;
    if (text.length < 43) return false;
    for (const [run] of text.matchAll(longRuns)) {
      const hexes = /^[0-9a-fA-F]{64,}$/.test(run)
        ? windows(run.toLowerCase())
        : windows(Buffer.from(run, 'base64').toString('hex'));
      for (const hex of hexes) if (isSecret(hex)) return true;
    }
    return false;
  }

  function isSecret(hex: string): boolean {
    if (!started) {
      started = true;
      for (const secret of secrets()) known.add(hexOf(secret));
    }
    for (const { nonces: batch } of dealt) {
      for (const { mockNonce } of batch) if (mockNonce.length > 0) nonces.add(hexOf(mockNonce));
    }
    dealt = [];
    return known.has(hex) || nonces.has(hex);
  }

  function inFrame({ from, to, message }: WireEnvelope): string | undefined {
    const { body } = message;
    switch (body.case) {
      case 'noncesDealt':
        dealt.push(body.value as NoncesDealt);
        return undefined;
      case 'partialRequest': {
        const { mockNonceInverse } = body.value as PartialRequest;
        if (mockNonceInverse.length > 0) nonces.add(hexOf(mockNonceInverse));
        return undefined;
      }
      case 'partialReply': {
        const { outcome } = body.value as PartialReply;
        const leaks = outcome.case === 'partial' && known.has(hexOf(outcome.value));
        return leaks ? `${from} answers a partial request with a secret of its own` : undefined;
      }
      case 'dkgVerified': {
        const revealed = (body.value as DkgVerified).verdicts.map(({ revealedSealingKey }) =>
          hexOf(revealedSealingKey),
        );
        const others = revealed.filter((hex) => known.has(hex) && !sealing.has(hex));
        return others.length > 0 ? `${from} reveals more than its sealing key` : undefined;
      }
      case 'dkgOpened':
      case 'dkgSealed':
      case 'dkgVerify':
      case 'dkgConfirm':
      case 'dkgSeal': {
        // A client-supplied share in dkgVerify is its caller's own, and a dealer stores the same number.
        const skip = body.case === 'dkgVerify' ? 'clientSupplied' : '';
        return hasSecret(body.value, skip)
          ? `a secret of a node is in a frame from ${from} to ${to} (${body.case})`
          : undefined;
      }
      default:
        return undefined;
    }
  }

  function hasSecret(value: unknown, skip: string): boolean {
    if (value instanceof Uint8Array) return value.length === secretBytes && known.has(hexOf(value));
    if (Array.isArray(value)) return value.some((one) => hasSecret(one, skip));
    if (typeof value !== 'object' || value === null) return false;
    for (const name in value) {
      if (name !== skip && hasSecret((value as Readonly<Record<string, unknown>>)[name], skip)) return true;
    }
    return false;
  }

  return {
    invariant: 'no-secret-in-clear',
    observe(observation: Observation) {
      switch (observation.kind) {
        case 'called': {
          const { humanApprovalWitness } = observation.request as { humanApprovalWitness?: Uint8Array };
          if (humanApprovalWitness && humanApprovalWitness.length > 0) {
            witnesses.add(Buffer.from(humanApprovalWitness).toString());
          }
          return undefined;
        }
        case 'written':
          if (observation.process !== 'coordinator') learnFrom(observation.write);
          return undefined;
        case 'frame':
          return observation.touched ? undefined : inFrame(observation.envelope);
        case 'emitted': {
          const { type, fields } = observation.event;
          for (const name in fields) {
            const value = fields[name];
            const text = Array.isArray(value) ? value.join(' ') : value;
            if (typeof text === 'string' && isInText(text))
              return `a secret is in the field ${name} of the event ${type}`;
          }
          return undefined;
        }
        case 'logged':
          return isInText(JSON.stringify(observation.event))
            ? `a secret is in the logged event ${observation.event.type}`
            : undefined;
        default:
          return undefined;
      }
    },
  };
}

/** Every 32 bytes of a hex text, byte by byte. */
function windows(hex: string): string[] {
  const found: string[] = [];
  for (let at = 0; at + 2 * secretBytes <= hex.length; at += 2) found.push(hex.slice(at, at + 2 * secretBytes));
  return found;
}
