/** What detection finds in a folder: language, how it is built, and what runs. */
import type { BuildHere } from '../merge-environment.ts'
import type { DetectedDatabase } from './databases.ts'

/** Files of the app, below its own folder. */
export interface AppFolder {
  readonly paths: ReadonlySet<string>
  /** Undefined: there is none, or it is too large to be read here. */
  read(path: string): Promise<string | undefined>
}

/** What the app file says of the build, as far as detection asks. */
export type BuildWishes = Partial<Pick<BuildHere, 'kind' | 'dockerfile' | 'node' | 'python'>> & {
  /** Program of several in a folder of Go, `cmd/NAME`. */
  readonly command?: string
  /** The app file says what each service runs. */
  readonly startIsKnown?: boolean
}

export type NodeManager = 'npm' | 'pnpm' | 'yarn'

/** A version that the app asks for. */
export interface VersionDemand {
  /** In the syntax of npm, with spaces between what must hold together: `>=20 <23`. */
  readonly range: string
  /** Where the app says so: `engines.node`. */
  readonly place: string
}

export interface NodeLanguage {
  readonly kind: 'node'
  readonly manager: NodeManager
  /** Undefined: nothing fixes the versions of packages. */
  readonly lockFile: string | undefined
  /** Yarn from version 2 on. */
  readonly isBerry: boolean
  readonly hasPackages: boolean
  /** Whether they are needed by the build alone, or by what runs, too. */
  readonly developmentPackages: 'none' | 'build' | 'run'
  /** Workspaces or scripts of the app are part of the installation. */
  readonly installsMore: boolean
  /** Script that builds. */
  readonly build: 'build' | 'heroku-postbuild' | 'docs:build' | undefined
  readonly version: VersionDemand | undefined
  /** Folder that the build fills with pages, for a site without a server. */
  readonly pages: string | undefined
}

export interface PythonLanguage {
  readonly kind: 'python'
  /** File that says which packages are installed; undefined: none are. */
  readonly packages:
    | 'uv.lock'
    | 'poetry.lock'
    | 'pyproject.toml'
    | `requirements${'' | '/production' | '/prod'}.txt`
    | undefined
  /** Requirements in pyproject.toml, where the project itself is no package. */
  readonly requirements: readonly string[] | undefined
  /** Its manage.py, where Django has a folder that static files are collected in. */
  readonly collectsStatic: string | undefined
  readonly version: VersionDemand | undefined
}

export type Language =
  /** With the ports that it exposes, but that of HTTPS. */
  | { readonly kind: 'container'; readonly file: string; readonly ports: readonly string[] }
  | NodeLanguage
  | PythonLanguage
  | {
      readonly kind: 'go'
      /** Package that is built: `.` or `./cmd/NAME`. */
      readonly target: string
      /** `bin/NAME` */
      readonly binary: string
      readonly version: VersionDemand | undefined
    }
  | {
      readonly kind: 'rust'
      readonly program: string
      /** `bin/NAME` */
      readonly binary: string
    }
  | { readonly kind: 'java'; readonly jar: string }
  | { readonly kind: 'static'; readonly pages: string }
  /** The files as they are. */
  | { readonly kind: 'files' }

export interface DetectedService {
  readonly name: string
  /** For `sh`; undefined: the command of the image, or the server of static pages. */
  readonly command: string | undefined
  /** Whether it answers requests: the one that gets hosts. */
  readonly isWeb: boolean
}

export interface DetectedApp {
  readonly language: Language
  /** `Node (Next.js) with pnpm` */
  readonly title: string
  /** Files that say so. */
  readonly because: readonly string[]
  readonly services: readonly DetectedService[]
  /** Command before each switch. */
  readonly release: string | undefined
  /** Undefined: the one in PORT. */
  readonly port: number | undefined
  /** Path of the health check; undefined: an open port. */
  readonly health: string | undefined
  /** Databases whose clients are among the packages. */
  readonly databases: readonly DetectedDatabase[]
}

/** Why a folder is not deployed as it is. */
export class DetectionError extends Error {
  /** What to do: a sentence. */
  readonly remedy: string
  /** Answers, where one of them would be enough. */
  readonly choices: readonly string[]

  constructor(message: string, remedy: string, choices: readonly string[] = []) {
    super(message)
    this.remedy = remedy
    this.choices = choices
  }
}
