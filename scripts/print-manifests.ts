/** Prints the manifests of `deploy/kustomize` from the Helm chart, and the alerts that the chart brings. */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parse } from 'yaml'
import { findHelm } from '../test/support/kubernetes-programs.ts'

const root = resolve(import.meta.dirname, '..')
export const chart = join(root, 'deploy/helm/fairlead')
export const layouts = ['gateway', 'standalone', 'apart'] as const
const image = 'registry.example/fairlead:0.1.0'
const heading =
  '# Printed from deploy/helm/fairlead by scripts/print-manifests.ts; change the chart instead.\n'
/** Kustomize names a configuration by its content, which restarts pods as these sums do. */
const onlyForHelm = /^.*(?:checksum\/config|helm\.sh\/).*\n/gm

export interface PrintedFile {
  /** Path from the top of the repository. */
  readonly file: string
  readonly text: string
}

/** A chart reads no files outside of it, and npm publishes no links. */
export function printAlerts(): PrintedFile {
  return {
    file: 'deploy/helm/fairlead/alerts.yml',
    text: readFileSync(join(root, 'deploy/monitoring/alerts.yml'), 'utf8'),
  }
}

/** Every other file as the chart says it is now; a test compares them with the files. */
export function printManifests(helm: string): PrintedFile[] {
  const monitoring = renderChart(helm, 'monitoring.enabled=true').filter((text) =>
    /^apiVersion: monitoring\./m.test(text),
  )
  return [
    ...layouts.flatMap((layout) => printLayout(layout, renderChart(helm, `layout=${layout}`))),
    { file: 'deploy/kustomize/monitoring/manifests.yml', text: formatManifests(monitoring) },
  ]
}

function printLayout(layout: string, manifests: readonly string[]): PrintedFile[] {
  const [config = ''] = manifests.filter((text) => /^kind: ConfigMap$/m.test(text))
  const { data } = parse(config) as { data: Record<string, string> }
  const others = manifests.filter((text) => text !== config)
  return [
    { file: `deploy/kustomize/${layout}/fairlead.yml`, text: `${heading}${data['fairlead.yml']}` },
    { file: `deploy/kustomize/${layout}/manifests.yml`, text: formatManifests(others) },
  ]
}

function formatManifests(manifests: readonly string[]): string {
  return heading + manifests.join('---\n').replaceAll(onlyForHelm, '')
}

/** The manifests of a release named `fairlead`. @param value Such as `layout=apart` */
export function renderChart(helm: string, value: string): string[] {
  const words = ['template', 'fairlead', chart, '--set', `image=${image},${value}`]
  const text = execFileSync(helm, words, { encoding: 'utf8', maxBuffer: 16 * 1024 ** 2 })
  return text.split(/^---\n# Source: .*\n/m).slice(1)
}

if (import.meta.main) {
  const helm = findHelm()
  if (helm === undefined) throw new Error('Helm is missing: run npm run test:setup')
  const write = ({ file, text }: PrintedFile) => writeFileSync(join(root, file), text)
  write(printAlerts())
  printManifests(helm).forEach(write)
}
