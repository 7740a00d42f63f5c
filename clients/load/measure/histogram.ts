/** Latencies in HDR histograms of microseconds, three significant digits, up to two minutes. They merge within that precision. */
// The package's index also loads its WebAssembly, 30 KB packed, which is not used here.
import { decompress, doDecode } from 'hdr-histogram-js/dist/JsHistogram.encoding.js';
import { constructorFromBucketSize } from 'hdr-histogram-js/dist/JsHistogramFactory.js';

const Histogram = constructorFromBucketSize(32);

const highestUs = 120e6;

/** Milliseconds. */
export interface Latency {
  readonly mean: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

export class LatencyHistogram {
  readonly #histogram: InstanceType<typeof Histogram>;

  /** `digits`: fewer take less memory. */
  constructor(digits: 1 | 2 | 3 = 3) {
    this.#histogram = new Histogram(1, highestUs, digits);
    this.#histogram.autoResize = true;
  }

  get count(): number {
    return this.#histogram.totalCount;
  }

  recordMs(ms: number): void {
    this.#histogram.recordValue(Math.min(highestUs, Math.max(1, Math.round(ms * 1000))));
  }

  add(other: LatencyHistogram): void {
    this.#histogram.add(other.#histogram);
  }

  reset(): void {
    this.#histogram.reset();
  }

  /** From 0 to 100; 0 when nothing was recorded. */
  percentileMs(percentile: number): number {
    // A percentile is the upper end of its bucket, which may be above the largest value.
    const { maxValue } = this.#histogram;
    return this.count === 0 ? 0 : msOf(Math.min(maxValue, this.#histogram.getValueAtPercentile(percentile)));
  }

  latency(): Latency {
    return {
      mean: this.count === 0 ? 0 : msOf(this.#histogram.mean),
      p50: this.percentileMs(50),
      p90: this.percentileMs(90),
      p99: this.percentileMs(99),
      p999: this.percentileMs(99.9),
      max: this.count === 0 ? 0 : msOf(this.#histogram.maxValue),
    };
  }

  /** HdrHistogram V2, compressed, base64. */
  encoded(): string {
    return this.#histogram.encodeIntoCompressedBase64();
  }

  /** Throws for a text that does not come from `encoded`. */
  addEncoded(text: string): void {
    this.#histogram.add(doDecode(decompress(Buffer.from(text, 'base64'))));
  }
}

function msOf(microseconds: number): number {
  return Math.round(microseconds) / 1000;
}
