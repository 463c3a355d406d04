/**
 * The runner: a process of its own that carries one build out in its working directory, in the name of the account's user. It
 * writes the log to standard output and ends with 0 once all steps are done.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  BuilderError,
  baseEnvironment,
  cacheEnvironment,
  checkOut,
  copyCheckout,
  resolveWithin,
  run,
} from '@fairlead/base/outside/builder-process.ts'
import type { BuildReport } from './build-report.ts'
import { archiveFiles, countTests, keepFolders, restoreFolders } from './collect.ts'
import { type BuiltContainerImage, buildContainerImage } from './container-image.ts'
import type { BuildStep } from './job-definition.ts'
import {
  archiveFolder,
  type BuildPlan,
  buildBranch,
  imageFolder,
  planFile,
  reportFile,
  repositoryFolder,
  sourceFolder,
} from './plan.ts'
import { RunnerLog, writeOut } from './runner-log.ts'
import { type RunningService, startService } from './services.ts'
import { writeImageFile } from './sources/image-defaults.ts'
import { runSourceAction } from './sources/source-actions.ts'

const work = process.cwd()
const source = join(work, sourceFolder)

class RunnerBuild {
  readonly #plan: BuildPlan
  readonly #log: RunnerLog
  readonly #services: RunningService[] = []
  readonly #images: BuiltContainerImage[] = []
  #environment: Readonly<Record<string, string>>

  constructor(plan: BuildPlan) {
    this.#plan = plan
    this.#log = new RunnerLog(plan.secrets)
    this.#environment = {
      ...baseEnvironment(work),
      ...cacheEnvironment(plan.cache),
      ...plan.environment,
    }
  }

  /** @returns whether it has succeeded */
  async carryOut(): Promise<boolean> {
    const places = { work, source, log: this.#log }
    const faults: string[] = []
    const attempt = async (part: () => Promise<void> | void) => {
      try {
        await part()
      } catch (error) {
        faults.push(
          this.#log.mask(
            error instanceof BuilderError ? error.message : String((error as Error).stack),
          ),
        )
        this.#log.say(faults.at(-1) ?? '')
      }
    }
    let tests: BuildReport['tests']
    await attempt(() => this.#prepare())
    const isPrepared = faults.length === 0
    for (const [index, step] of this.#plan.steps.entries()) {
      if (faults.length === 0 || (step.always && isPrepared))
        await attempt(() => this.#step(step, index + 1))
    }
    await Promise.all(this.#services.map((service) => service.stop()))
    if (isPrepared) {
      await attempt(() => {
        tests = countTests(this.#plan, places)
      })
      await attempt(() => archiveFiles(this.#plan, places))
    }
    if (faults.length === 0) await attempt(() => keepFolders(this.#plan, places))
    if (faults.length === 0) await attempt(() => this.#fillImage())
    this.#report({ tests, containerImages: this.#images, failure: faults[0]?.slice(0, 2_000) })
    return faults.length === 0
  }

  async #prepare(): Promise<void> {
    for (const name of ['home', 'tmp', archiveFolder, sourceFolder])
      mkdirSync(join(work, name), { recursive: true })
    this.#log.say(`Build ${this.#plan.title}`)
    const { source: planned } = this.#plan
    if (planned !== undefined) {
      const repository = join(work, repositoryFolder)
      this.#log.say(`Commit ${planned.commit} of ${planned.url}`)
      await checkOut({ url: repository, revision: buildBranch, work, folder: source })
      await run(['git', 'remote', 'add', 'origin', planned.url], {
        cwd: source,
        env: this.#environment,
      })
      rmSync(repository, { recursive: true, force: true })
    }
    await restoreFolders(this.#plan, { work, source, log: this.#log })
    for (const [name, service] of Object.entries(this.#plan.services)) {
      const started = await startService(name, service, {
        work,
        folder: source,
        environment: this.#environment,
      })
      this.#services.push(started)
      this.#environment = { ...this.#environment, ...started.variables }
      this.#log.say(`The service ${name} is ready.`)
    }
  }

  async #step(
    { title, action, in: folder, environment }: BuildStep,
    number: number,
  ): Promise<void> {
    const [first = '', ...others] = title.trim().split('\n')
    this.#log.say(
      `Step ${number} of ${this.#plan.steps.length}: ${first}${others.length > 0 ? ' …' : ''}`,
    )
    const cwd = resolveWithin(source, folder)
    const env = { ...this.#environment, ...environment }
    if (action.kind === 'run') return this.#log.run(action.command, { cwd, env })
    if (action.kind !== 'container-image') {
      const { cache } = this.#plan
      const options = { source: cwd, root: source, env, log: this.#log, cache }
      const variables = await runSourceAction(action, options)
      this.#environment = { ...this.#environment, ...variables }
      return
    }
    this.#images.push(await buildContainerImage(action, { work, source: cwd, env, log: this.#log }))
  }

  async #fillImage(): Promise<void> {
    const { imageFrom, imageDefaults } = this.#plan
    if (imageFrom === undefined) return
    const [from, image] = [resolveWithin(source, imageFrom), join(work, imageFolder)]
    if (imageDefaults === undefined) return copyCheckout(from, image)
    // Nothing else needs the folder.
    renameSync(from, image)
    writeImageFile(image, imageDefaults, this.#environment['PATH'] ?? '')
  }

  #report(report: BuildReport): void {
    const file = join(work, reportFile)
    writeFileSync(`${file}.new`, JSON.stringify(report))
    renameSync(`${file}.new`, file)
  }
}

function takePlan(): BuildPlan {
  const file = join(work, planFile)
  if (!existsSync(file)) throw new BuilderError('The build was interrupted. Start it again.')
  const plan = JSON.parse(readFileSync(file, 'utf8')) as BuildPlan
  // It has secrets, which the steps get by their environment only.
  rmSync(file)
  return plan
}

try {
  if (!(await new RunnerBuild(takePlan()).carryOut())) process.exitCode = 1
} catch (error) {
  writeOut(
    Buffer.from(
      `${error instanceof BuilderError ? error.message : String((error as Error).stack)}\n`,
    ),
  )
  process.exitCode = 1
}
// A program that a step has left in the background keeps nothing open.
process.exit()
