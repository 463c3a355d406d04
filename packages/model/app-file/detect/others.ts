/** Programs of Java and Rust, and what has no build of its own. */
import { objectList, shape } from '@fairlead/base/json/shape.ts'
import { textOf, textsOf } from '@fairlead/base/json/values.ts'
import { type AppFolder, type DetectedApp, DetectionError, type Language } from './detected.ts'
import { parseToml } from './requirements.ts'

const nothing = { release: undefined, port: undefined, health: undefined, databases: [] } as const

export function detectJar(jar: string): DetectedApp {
  // Spring Boot reads no PORT; other programs ignore the property.
  return program({ kind: 'java', jar }, 'Java', jar, `java -Dserver.port=$PORT -jar ${jar}`)
}

const readCargo = shape({
  main: [shape({ name: textOf, program: [textOf, 'default-run'] }), 'package'],
  bin: objectList(shape({ name: textOf })),
  workspace: shape({ members: textsOf }),
})

export async function detectRust(folder: AppFolder): Promise<DetectedApp> {
  const manifest = parseToml((await folder.read('Cargo.toml')) ?? '', 'Cargo.toml')
  const {
    main,
    bin,
    workspace: { members },
  } = readCargo(manifest)
  const found = [...folder.paths].flatMap((path) => {
    const name = /^src\/bin\/([^/]+?)(?:\.rs|\/main\.rs)$/.exec(path)?.[1]
    return path === 'src/main.rs' ? (main.name ?? []) : (name ?? [])
  })
  const programs = [...new Set([...found, ...bin.flatMap((each) => each.name ?? [])])]
  const name = main.program ?? (programs.length === 1 ? programs[0] : undefined)
  if (name === undefined) {
    const program = programs[0] ?? members.at(-1)?.replace(/^.*\//, '') ?? 'NAME'
    throw new DetectionError(
      main.name === undefined
        ? 'Cargo.toml names no package.'
        : programs.length === 0
          ? 'Cargo.toml has no program: there is no src/main.rs.'
          : `Cargo.toml has several programs: ${programs.join(', ')}.`,
      `Name one in .fairlead/app.yml: build: { steps: ["cargo build --release --locked --bin ${program} && mkdir -p bin && cp target/release/${program} bin && rm -r target"] }, and services: { web: { command: ./bin/${program} } }.`,
    )
  }
  if (!folder.paths.has('Cargo.lock'))
    throw new DetectionError(
      'The folder has no Cargo.lock.',
      'Run "cargo generate-lockfile", and keep the file.',
    )
  const binary = `bin/${name}`
  return program({ kind: 'rust', program: name, binary }, 'Rust', 'Cargo.toml', `./${binary}`)
}

function program(language: Language, title: string, because: string, command: string): DetectedApp {
  return {
    language,
    title,
    because: [because],
    services: [{ name: 'web', command, isWeb: true }],
    ...nothing,
  }
}

export function detectSite(pages: string): DetectedApp {
  return {
    ...nothing,
    language: { kind: 'static', pages },
    title: 'Static pages',
    because: [pages === '.' ? 'index.html' : `${pages}/index.html`],
    services: [{ name: 'web', command: undefined, isWeb: true }],
    health: '/',
  }
}

/** Ports of TCP that the last stage of a Dockerfile exposes. */
function exposedPorts(dockerfile: string): readonly string[] {
  const stages = new Map<string, readonly string[]>()
  let [name, ports]: [string | undefined, readonly string[]] = [undefined, []]
  for (const line of dockerfile.split('\n')) {
    const [word = '', ...rest] = line.trim().split(/\s+/)
    const args = rest.filter((each) => !each.startsWith('--'))
    if (word.toUpperCase() === 'FROM') [name, ports] = [args[2], stages.get(args[0] ?? '') ?? []]
    if (word.toUpperCase() === 'EXPOSE') ports = [...ports, ...args]
    if (name !== undefined) stages.set(name, ports)
  }
  return ports.filter((each) => !each.toLowerCase().endsWith('/udp'))
}

/** The only port that it exposes, besides that of HTTPS, is the one of the app. */
export async function detectContainer(folder: AppFolder, file: string): Promise<DetectedApp> {
  const exposed = exposedPorts((await folder.read(file)) ?? '')
  const found = exposed.map((each) => /^(\d{1,5})(?:\/tcp)?$/.exec(each)?.[1])
  const ports = [...new Set(found)].filter((each) => each !== '443')
  const [port] = ports
  return {
    ...nothing,
    language: { kind: 'container', file, ports: ports.flatMap((each) => each ?? []) },
    title: 'Container image',
    because: [file],
    services: [{ name: 'web', command: undefined, isWeb: true }],
    port: port === undefined || ports.length > 1 ? undefined : Number(port),
  }
}

interface Undetected {
  readonly title: string
  readonly image: string
  readonly lines: readonly string[]
}

/** Languages without a build of their own, by a file, with what a Dockerfile would say. */
const undetected: readonly (readonly [RegExp, Undetected])[] = [
  [
    /^_config\.ya?ml$/,
    {
      title: 'Jekyll',
      image: 'ruby:3.4',
      lines: [
        'RUN bundle install && bundle exec jekyll build',
        'CMD ["bundle", "exec", "jekyll", "serve", "--skip-initial-build", "-H", "0.0.0.0", "-P", "8080"]',
      ],
    },
  ],
  [
    /^hugo\.(?:toml|ya?ml|json)$/,
    {
      title: 'Hugo',
      image: 'hugomods/hugo',
      lines: ['CMD ["hugo", "server", "-e", "production", "--bind", "0.0.0.0", "-p", "8080"]'],
    },
  ],
  [
    /^Gemfile$/,
    {
      title: 'Ruby',
      image: 'ruby:3.4',
      lines: ['RUN bundle install', 'CMD ["bundle", "exec", "puma", "-p", "8080"]'],
    },
  ],
  [
    /^(?:composer\.json|(?:public\/)?index\.php)$/,
    {
      title: 'PHP',
      image: 'php:8.4-cli',
      lines: [
        'RUN apt-get update && apt-get install -y git unzip',
        'COPY --from=composer:2 /usr/bin/composer /usr/bin/',
        'RUN test ! -f composer.json || composer install --no-dev',
        'CMD php -S 0.0.0.0:8080 -t $(test -d public && echo public || echo .)',
      ],
    },
  ],
  [
    /^pom\.xml$/,
    {
      title: 'Maven',
      image: 'maven:3-eclipse-temurin-21',
      lines: ['RUN mvn -q package', 'CMD ["sh", "-c", "java -jar target/*.jar"]'],
    },
  ],
  [
    /^build\.gradle(?:\.kts)?$/,
    {
      title: 'Gradle',
      image: 'gradle:8-jdk21',
      lines: [
        'RUN gradle assemble && rm -f build/libs/*-plain.jar',
        'CMD ["sh", "-c", "java -jar build/libs/*.jar"]',
      ],
    },
  ],
  [
    /^mix\.exs$/,
    {
      title: 'Elixir',
      image: 'elixir:1.18',
      lines: [
        'ENV MIX_ENV=prod',
        'RUN mix local.hex --force && mix local.rebar --force && mix deps.get && mix release app',
        'CMD ["_build/prod/rel/app/bin/app", "start"]',
      ],
    },
  ],
  [
    /^([^/]+)\.csproj$/,
    {
      title: '.NET',
      image: 'mcr.microsoft.com/dotnet/sdk:9.0',
      lines: ['RUN dotnet publish -o out', 'CMD ["dotnet", "out/$1.dll"]'],
    },
  ],
  [
    /^Pipfile$/,
    {
      title: 'Pipenv',
      image: 'python:3.13-slim',
      lines: ['RUN pip install pipenv && pipenv sync --system', 'CMD ["gunicorn", "app:app"]'],
    },
  ],
  [
    /^deno\.jsonc?$/,
    { title: 'Deno', image: 'denoland/deno:2', lines: ['CMD ["deno", "run", "-A", "main.ts"]'] },
  ],
  [
    /^bun\.lockb?$/,
    {
      title: 'Bun',
      image: 'oven/bun:1',
      lines: ['RUN bun install --frozen-lockfile', 'CMD ["bun", "run", "start"]'],
    },
  ],
]

/** Gives an example that fits. */
export function findUndetected({ paths }: AppFolder): DetectionError | undefined {
  for (const [pattern, found] of undetected) {
    const file = [...paths].find((path) => pattern.test(path))
    // Generators of Node have such a file, too.
    if (file === undefined || (found.title === 'Jekyll' && paths.has('package.json'))) continue
    return notBuilt(found.title, file, { paths })
  }
  return undefined
}

/** @param title Of a row @param where What says so */
export function notBuilt(
  title: string,
  where: string,
  { paths }: Pick<AppFolder, 'paths'>,
): DetectionError {
  const [pattern, found] = undetected.find(([, each]) => each.title === title) ?? [
    /$/,
    unknownLanguage,
  ]
  const name = pattern.exec(where)?.[1] ?? 'app'
  const lines = found.lines.map((line) => line.replace('$1', name))
  return notDetected(
    `${title} (${where}) is not built by Fairlead itself.`,
    { ...found, lines },
    paths,
  )
}

const unknownLanguage = { image: 'debian:stable-slim', lines: ['RUN make', 'CMD ["./app"]'] }

/** What other tools deploy by, with where it belongs. */
const foreign: readonly (readonly [RegExp, string])[] = [
  [
    /^(?:docker-)?compose\.ya?ml$/,
    'write its databases as "attach", its other programs as "services"',
  ],
  [
    /^Procfile$/,
    'write its programs as "services" and its release as "release", or build: procfile',
  ],
  [
    /^package\.json$/,
    'its scripts do not run; write what builds its pages, and the rest, as build: { steps: [...] }',
  ],
  [
    /^(?:fly\.toml|render\.yaml|railway\.(?:json|toml)|nixpacks\.toml|heroku\.yml|config\/deploy\.yml|\.do\/app\.yaml|ecosystem\.config\.c?js)$/,
    'write what it says of commands, ports, health checks and variables',
  ],
  [/^crontab$/, 'write its lines as "services" with a "schedule"'],
]

/** A sentence for each file that says how the app is deployed, and is not read, and for what is undecided. */
export function findUnread({ paths }: AppFolder, { because, language }: DetectedApp): string[] {
  const ports = language.kind === 'container' ? language.ports : []
  const undecided =
    ports.length < 2
      ? []
      : [
          `It exposes the ports ${ports.join(' and ')}: write that of its pages as "port" of web in .fairlead/app.yml; else its program has to listen on 8080.`,
        ]
  const unread = foreign.flatMap(([pattern, advice]) =>
    [...paths]
      .filter((path) => pattern.test(path) && !because.includes(path))
      .filter((path) => path !== 'package.json' || !['container', 'node'].includes(language.kind))
      .map((path) => `${path} is not read: ${advice} in .fairlead/app.yml.`),
  )
  return [...undecided, ...unread]
}

/** A folder below with an app of its own. */
const below =
  /^((?:[^./][^/]*\/)?[^./][^/]*)\/(?:package\.json|manage\.py|requirements\.txt|pyproject\.toml|go\.mod|Cargo\.toml|pom\.xml|build\.gradle(?:\.kts)?|Gemfile|composer\.json|mix\.exs|[^/]+\.csproj|(?:Docker|Container)file)$|^(docs|dist|www|site|html)\/index\.html$/
const ofKubernetes = /(?:^|\/)(?:kustomization\.ya?ml|Chart\.yaml|skaffold\.yaml)$/
const maxManifests = 20

export async function nothingFound({ paths, read }: AppFolder): Promise<DetectionError> {
  const unread = [...paths].filter((path) => foreign.some(([pattern]) => pattern.test(path)))
  const not = unread.length === 0 ? '' : `; Fairlead does not read ${unread.join(' and ')}`
  const message = `Nothing in the folder says how it is built${not}.`
  const found = new Set(
    [...paths].flatMap((path) => {
      const [, app, pages] = below.exec(path) ?? []
      return app ?? pages ?? []
    }),
  )
  const folders = [...found].filter(
    (folder) => !found.has(folder.replace(/\/[^/]*$/, '')) || !folder.includes('/'),
  )
  if (folders.length > 1 || (folders.length === 1 && !findDockerfile(paths)))
    return new DetectionError(
      `${message} Not detected.`,
      `Each of its apps is one of its own: run "fairlead init" in ${folders.sort().join(' or ')}.`,
    )
  const yaml = [...paths].filter((path) => /\.ya?ml$/.test(path) && !path.startsWith('.'))
  for (const path of yaml.slice(0, maxManifests)) {
    if (!ofKubernetes.test(path) && !isManifest((await read(path)) ?? '')) continue
    return new DetectionError(
      `${path} is for Kubernetes, and an app file says how a program is built and run.`,
      'Deploy manifests, Kustomize and Helm by a pipeline: docs/guides/deploy-to-kubernetes.md shows how. Or add a Dockerfile, for an app file.',
    )
  }
  return notDetected(message, unknownLanguage, paths)
}

function isManifest(text: string): boolean {
  return /^apiVersion:/m.test(text) && /^kind:/m.test(text)
}

function findDockerfile(paths: ReadonlySet<string>): string | undefined {
  return [...paths].find((path) =>
    /^(?!\.)(?:.*\/)?(?:Docker|Container)file(?:\.[\w-]+)?$/.test(path),
  )
}

function notDetected(
  message: string,
  { image, lines }: Omit<Undetected, 'title'>,
  paths: ReadonlySet<string>,
): DetectionError {
  const dockerfile = [`FROM ${image}`, 'WORKDIR /app', 'COPY . .', ...lines, 'EXPOSE 8080']
  const example = [...dockerfile.map((line) => `  ${line}`)].join('\n')
  const other = findDockerfile(paths)
  if (other !== undefined) {
    const folder = other.includes('/')
      ? `, or, for an app of that folder, build: { from: ${other.slice(0, other.lastIndexOf('/'))} }`
      : ''
    return new DetectionError(
      `${message} Not detected.`,
      `Name ${other} in .fairlead/app.yml: build: { dockerfile: ${other} }${folder}.`,
    )
  }
  return new DetectionError(
    `${message} Not detected.`,
    'Add a Dockerfile, which needs podman or Docker on the machine of Fairlead, such as:\n' +
      `${example}\n` +
      'or, for programs of that machine, commands to .fairlead/app.yml, such as:\n' +
      '  build: { steps: ["make"] }\n' +
      '  services: { web: { command: ./app } }',
  )
}
