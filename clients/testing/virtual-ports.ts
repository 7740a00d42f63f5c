/** The ports of `signmesh/client` in virtual time: its retries, pauses and deadlines take no real time. */

import { uuidV7 } from '../../proto/ids.ts';
import { randomStream } from '../../simulation/cluster/random.ts';
import type { CustodyWorld } from '../../simulation/service/custody-world.ts';
import type { ClientPorts } from '../client/contract.ts';
import type { VirtualDriver } from './virtual-driver.ts';

/** A longer timer is a deadline of a call that lets time pass itself; a shorter one may be the only awaited thing. */
const pauseMsMax = 30_000;

export interface VirtualPortsOptions {
  readonly seed: string;
  readonly fetch: typeof globalThis.fetch;
  /** Whether its pauses let time pass. */
  readonly drives: boolean;
}

export function virtualPorts(world: CustodyWorld, driver: VirtualDriver, options: VirtualPortsOptions): ClientPorts {
  const { seed, fetch, drives } = options;
  const { cluster } = world;
  const random = randomStream(seed, `client/${drives ? 'own' : 'library'}`);
  return {
    fetch,
    // The client's machine: no sandbox moves its clock.
    nowMs: () => world.nowMs,
    startTimer: (ms, then) => {
      let settle = (): void => undefined;
      const over = new Promise<void>((resolve) => {
        settle = resolve;
      });
      const fire = (): void => {
        world.time.woken();
        settle();
        then();
      };
      const cancel = cluster.time.after(ms, fire, true);
      // A stopped cluster has no time: its waits end at once.
      if (drives && ms <= pauseMsMax) driver.run(over).catch(fire);
      return () => {
        cancel();
        settle();
      };
    },
    random: () => random(1)[0]! / 256,
    uuid: () => uuidV7(0, random),
  };
}
