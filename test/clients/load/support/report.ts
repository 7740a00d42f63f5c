/** Reports of load runs that were never made, for what shows them. */
import { LoadRecorder } from '../../../../clients/load/measure/recorder.ts';
import type { FaultWindow, LoadReport, SeriesPoint } from '../../../../clients/load/report/results.ts';

const self = { cpuSeconds: 1, rssBytes: 9e7, utilization: 0.2, lagP99Ms: 2, lagMaxMs: 5, machineBusy: 0.5 };

/** Two stages of ten seconds; `word` stands wherever a name from elsewhere can. */
export function sampleReport(faults: readonly FaultWindow[], word = 'sample'): LoadReport {
  const recorder = new LoadRecorder(2);
  const series: SeriesPoint[] = [];
  for (let second = 1; second <= 20; second += 1) {
    const stage = second <= 10 ? 0 : 1;
    for (let count = 0; count < 10; count += 1) {
      recorder.sent(stage, 1);
      recorder.call(stage, 'InitiateSigning', 4, undefined);
      recorder.operation(stage, 'sign', 5 + second + count, count === 9 && stage === 1 ? word : undefined);
    }
    const processes = { gateway: { cpu: 0.4, rssBytes: 1e8 }, [word]: { cpu: 0.1, rssBytes: 5e7 } };
    series.push({ ...recorder.point(second * 1000, 3), processes, generator: 0.2 });
  }
  const [first, second] = recorder.stages();
  const health = first!.total.latency;
  const stage = { health, saturation: [], processes: {}, cpuMsPerOperation: 2.5, drift: null, self, tookMs: 10_000 };
  return {
    ...{ schema: 'signmesh-load/1', name: word, startedAt: '2026-11-22T19:00:00.000Z', tookMs: 21_000 },
    ...{ interrupted: false, model: 'open model', mix: { sign: 1 }, inFlightMax: 100, series, faults, limits: [] },
    target: { url: 'http://127.0.0.1:8080', api: 'rest', version: '0.1.0' },
    machine: { node: 'v20', cpu: word, cores: 2, memoryBytes: 1 },
    stages: [
      {
        ...{ ...first!, ...stage, beganMs: 0, requestedRate: 10, achievedRate: 10 },
        stage: { name: 'warm', shape: 'constant', rate: 10, forMs: 10_000 },
      },
      {
        ...{ ...second!, ...stage, beganMs: 10_000, requestedRate: null, achievedRate: 9 },
        stage: { name: 'callers', shape: 'closed', callers: 4, forMs: 10_000 },
      },
    ],
    unloaded: first!.total.latency,
    recovery: { holds: true, tookMs: 100, beforeP50Ms: 5, afterP50Ms: 6, health: 'ok', text: 'as before' },
    correctness: { holds: true, checks: [{ name: 'signatures', holds: true, text: word, faults: [] }] },
    thresholds: [{ text: 'p99<1ms', holds: false, measured: 30 }],
    baseline: undefined,
  };
}
