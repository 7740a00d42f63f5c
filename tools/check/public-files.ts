/**
 * The rule of public files: others import a module only through its file `public.ts`, which exports its public names. A module is
 * a folder of a room that consists of modules; its own files import each other directly.
 *
 * Rooms outside the list are small enough to be one module. Tests, tools, benchmarks and examples may import any file.
 */
import { worldlyFiles } from './ports.ts';
import { worldly } from './purity.ts';

const moduleRooms = /^(cli|coordinator|controls|custody|delivery|modules|providers)\//;
const lookInside = /^(test|tools|bench|examples)\//;

/** Folders with only the shared code of a room's modules, and modules of one file: every file of them is public. */
const sharedFolders: ReadonlySet<string> = new Set([
  'cli/cluster-files',
  'cli/common',
  'cli/redis',
  'cli/settings',
  'cli/start',
  'coordinator/contract',
  'coordinator/session',
  'controls/rules',
  'custody/assets',
  'custody/provider-calls',
  'providers/port',
  'providers/sandbox',
  'providers/simulated',
]);

/** They pass adapters in, which no public file exports: importing a module does not load its adapters. */
const liveCompositions: ReadonlySet<string> = new Set([
  'cli/up/simulated-vendor.ts',
  'coordinator/main.ts',
  'embedded/egress.ts',
  'gateway/main.ts',
  'gateway/live-wallet-ports.ts',
  'gateway/redis-wallet-ports.ts',
  'gateway/worker.ts',
  'world/announcements.ts',
  'world/invariants/providers.ts',
  'world/session-side.ts',
  'world/worker-process.ts',
]);

/** A table of pauses, the only part of deliveries that the simulator may import (rule room-sim). */
const retrySchedule = 'delivery/deliveries/retry-schedule.ts';

/** The module that a file belongs to, e.g. "custody/wallets"; undefined: none. */
export function moduleOf(file: string): string | undefined {
  const [room, folder, rest] = file.split('/');
  return moduleRooms.test(file) && rest !== undefined ? `${room}/${folder}` : undefined;
}

/** Whether this import bypasses the public file of a module. */
export function passesPublicFile(from: string, to: string): boolean {
  const module = moduleOf(to);
  if (module === undefined || module === moduleOf(from) || lookInside.test(from)) return false;
  if (to === `${module}/public.ts` || sharedFolders.has(module) || to === retrySchedule) return false;
  return !(liveCompositions.has(from) && isAdapter(to));
}

function isAdapter(file: string): boolean {
  return worldlyFiles.has(file) || worldly.some((place) => place.endsWith('/') && file.startsWith(place));
}
