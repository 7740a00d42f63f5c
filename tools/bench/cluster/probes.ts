/** The event loops of the measured processes, from the probes inside them (probe.ts). */
import { createConnection } from 'node:net';
import type { Pids } from '../../../clients/load/measure/processes.ts';
import { type ProbeReading, probeSocket } from './probe-protocol.ts';

/** Asks every probe, which resets it. Omits processes without one (Redis). */
export async function readProbes(pids: Pids, folder: string): Promise<Record<string, ProbeReading>> {
  const readings = await Promise.all(
    Object.entries(pids).map(async ([name, pid]) => [name, await readProbe(probeSocket(folder, pid))] as const),
  );
  return Object.fromEntries(readings.flatMap(([name, reading]) => (reading === undefined ? [] : [[name, reading]])));
}

function readProbe(path: string): Promise<ProbeReading | undefined> {
  return new Promise((resolve) => {
    let text = '';
    const socket = createConnection(path);
    socket.setTimeout(2000, () => socket.destroy());
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(text === '' ? undefined : (JSON.parse(text) as ProbeReading)));
  });
}
