/** Quantities and times in words. */

export function bytesInWords(bytes: number | null): string {
  if (bytes === null) return '–';
  if (bytes < 1_000_000) return `${Math.max(1, Math.round(bytes / 1_000))} KB`;
  return bytes < 1_000_000_000 ? `${Math.round(bytes / 1_000_000)} MB` : `${(bytes / 1_000_000_000).toFixed(1)} GB`;
}

/** Of a time that has passed, or that is to come. */
export function durationInWords(ms: number): string {
  const s = Math.max(0, ms) / 1_000;
  if (s < 1) return `${Math.round(s * 1_000)} ms`;
  if (s < 10) return `${s.toFixed(1)} s`;
  if (s < 60) return `${Math.round(s)} s`;
  if (s < 3_600) return `${Math.floor(s / 60)} min`;
  if (s < 86_400) return `${Math.floor(s / 3_600)} h ${Math.floor((s % 3_600) / 60)} min`;
  return `${Math.floor(s / 86_400)} d`;
}

/** In whole seconds: a list of ages changes once a second. */
export function ageInWords(ms: number): string {
  if (ms < 2_000) return 'now';
  return ms < 60_000 ? `${Math.floor(ms / 1_000)} s ago` : `${durationInWords(ms)} ago`;
}

/** `+5.0 s`, `−2 min`; empty: none. */
export function offsetInWords(ms: number): string {
  return ms === 0 ? '' : `${ms > 0 ? '+' : '−'}${durationInWords(Math.abs(ms))}`;
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
}

/** Of one core. */
export function cpuInWords(cpu: number | null): string {
  return cpu === null ? '–' : `${(cpu * 100).toFixed(cpu < 0.0995 ? 1 : 0)} %`;
}

/** "node/2" → "node 2"; "cluster/2/node/1" → "node 1". */
export function nameInWords(process: string): string {
  return process.replace(/^cluster\/\d+\//, '').replace('node/', 'node ');
}
