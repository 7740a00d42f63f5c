/**
 * No caller supplies the dealers of a key without the consent of every node that holds it: a node finalizes a key with a
 * client-supplied dealer only if its own configuration accepts such dealers, and never a wallet's key.
 */
import { isWalletKey } from '../../../proto/limits.ts';
import type { Checker, Observation } from '../observation.ts';
import { dkgRecordsIn } from './node-records.ts';

/** @param consents whether a node's own configuration accepts client-supplied dealers */
export function dealersConsented(consents: (nodeId: number) => boolean): Checker {
  return {
    invariant: 'dealers-consented',
    observe(observation: Observation) {
      if (observation.kind !== 'written' || observation.process === 'coordinator') return undefined;
      const { process, write } = observation;
      for (const { name, dkg } of dkgRecordsIn(write)) {
        const supplied = dkg.dealers?.filter(({ played }) => played === true).map(({ dealer }) => dealer) ?? [];
        if (supplied.length === 0) continue;
        const session = name.slice(name.indexOf('/') + 1);
        if (!isWalletKey(session) && consents(Number(process.slice('node/'.length)))) continue;
        return `${process} takes client-supplied shares of dealer ${supplied.join(', ')} for the key ${name}, and did not consent`;
      }
      return undefined;
    },
  };
}
