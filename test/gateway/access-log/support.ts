/** Access lines as tests look at them: as the log file has them. */

import type { LogLine } from '../../support/log.ts';
import { until } from '../../support/until.ts';

export interface AccessLine {
  readonly level: string;
  readonly [field: string]: unknown;
}

export function linesOf(requests: readonly LogLine[]): AccessLine[] {
  return requests.map(({ level, fields, message }) => {
    if (message !== 'request') throw new Error(`not an access line: ${message}`);
    return { level, ...(JSON.parse(JSON.stringify(fields)) as object) };
  });
}

/** The only line with this request id, once it has come. */
export async function lineOf(requests: readonly LogLine[], requestId: unknown): Promise<AccessLine> {
  const found = () => linesOf(requests).filter(({ request_id }) => request_id === requestId);
  await until(() => found().length > 0, `the line of ${String(requestId)}`);
  const lines = found();
  if (lines.length !== 1) throw new Error(`${lines.length} lines for one request`);
  return lines[0]!;
}
