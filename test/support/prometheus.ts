/** A Prometheus that reads targets each second, or knows a history. */
import { execFileSync, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { freePort } from './free-port.ts'
import { createFolder, removeFolder } from './temporary-folder.ts'

interface Target {
  readonly job: string
  /** Of its metrics. */
  readonly url: URL
  /** Of the target; a metric's own label of that name becomes `exported_…`. */
  readonly labels?: Readonly<Record<string, string>>
}

interface PrometheusOptions {
  readonly targets?: readonly Target[]
  readonly ruleFiles?: readonly string[]
  /** What it has measured before, in the text format of OpenMetrics. */
  readonly history?: string
}

/** @returns its address; it may not answer yet */
export async function startPrometheus(
  t: TestContext,
  program: string,
  { targets = [], ruleFiles = [], history }: PrometheusOptions,
): Promise<string> {
  const home = createFolder('prometheus')
  t.after(() => removeFolder(home))
  const port = await freePort()
  const file = join(home, 'prometheus.yml')
  writeFileSync(
    file,
    JSON.stringify({
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: ruleFiles,
      scrape_configs: targets.map(({ job, url, labels }) => ({
        job_name: job,
        metrics_path: url.pathname,
        static_configs: [{ targets: [url.host], labels }],
      })),
    }),
  )
  if (history !== undefined) {
    const historyFile = join(home, 'history.txt')
    writeFileSync(historyFile, history)
    const promtool = join(dirname(program), 'promtool')
    execFileSync(
      promtool,
      ['tsdb', 'create-blocks-from', 'openmetrics', historyFile, join(home, 'data')],
      { stdio: 'ignore' },
    )
  }
  const server = spawn(
    program,
    [
      `--config.file=${file}`,
      `--storage.tsdb.path=${join(home, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: 'ignore' },
  )
  t.after(async () => {
    server.kill()
    await new Promise((resolve) => server.once('exit', resolve))
  })
  return `http://127.0.0.1:${port}`
}
