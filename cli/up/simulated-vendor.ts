/**
 * The simulated vendor of a sandbox: a server in the process of `up`, so that it outlives coordinator, nodes and gateway, with
 * its keys and its book in its own directory (wallets/providers/vendor/server.ts). The nodes call it over HTTP, as any vendor.
 */
import { join } from 'node:path';
import { bindApart } from '../../core/actors/live/bind-apart.ts';
import { systemClock, systemPorts } from '../../core/actors/live/ports.ts';
import { VendorServer } from '../../wallets/providers/vendor/server.ts';
import { ensureSecret } from '../cluster-files/cluster-material.ts';
import { makeDirectory } from '../common/files.ts';
import type { Environment } from '../settings/config.ts';

/** The lifetime of an open order. */
const lifetimeMs = 3_600_000;

export interface SimulatedVendor {
  readonly server: VendorServer;
  /** The nodes' settings to reach it. */
  readonly environment: Environment;
}

/** `clockOffsetMs`: of the sandbox's clock, which the vendor follows: it refuses requests that are older than minutes. */
export async function startSimulatedVendor(
  dataDir: string,
  decideMs: number,
  clockOffsetMs: () => number,
  reservedPorts: ReadonlySet<number>,
): Promise<SimulatedVendor> {
  const directory = join(dataDir, 'vendor');
  makeDirectory(directory);
  const secret = ensureSecret(directory, 'secret');
  const ports = { ...systemPorts, clock: { nowMs: () => systemClock.nowMs() + clockOffsetMs() } };
  const server = await bindApart(reservedPorts, {
    bind: () => VendorServer.start({ directory, port: 0, secret, decideMs, lifetimeMs, ports }),
    portOf: ({ url }) => Number(new URL(url).port),
    release: (refused) => refused.stop(),
  });
  return {
    server,
    environment: { SIGNMESH_VENDOR_URL: server.url, SIGNMESH_VENDOR_SECRET_FILE: join(directory, 'secret') },
  };
}
