/** What a tenant store needs besides its Redis: the system's ports, and the key that seals its records. */
import { systemPorts } from '../../core/actors/live/ports.ts';

export const testRecordKey = new Uint8Array(32).fill(11);

export const storePorts = { ...systemPorts, recordKey: testRecordKey };
