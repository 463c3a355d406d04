import assert from 'node:assert/strict'
import { test } from 'node:test'
import { detect } from '../../packages/model/app-file/detect/detect.ts'
import {
  type BuildWishes,
  type DetectedApp,
  DetectionError,
} from '../../packages/model/app-file/detect/detected.ts'

type Files = Readonly<Record<string, string>>

function detectIn(files: Files, wishes: BuildWishes = {}): Promise<DetectedApp> {
  const read = async (path: string) => files[path]
  return detect({ paths: new Set(Object.keys(files)), read }, wishes)
}

const packageJson = (manifest: object) => JSON.stringify(manifest)
const express = { dependencies: { express: '^4' }, scripts: { start: 'node app.js' } }
const vite = { scripts: { dev: 'vite', build: 'vite build' }, devDependencies: { vite: '^6' } }
const flask = 'from flask import Flask\n\napp = Flask(__name__)\n'
const fastapi = 'from fastapi import FastAPI\n\napp = FastAPI()\n'
const manage = "os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'mysite.settings')\n"
const goMain = 'package main\n\nfunc main() {}\n'

/** Folders as starter apps and tutorials have them, and the title, what runs, and what else matters. */
const folders: Readonly<
  Record<string, [Files, string, Record<string, string | undefined>, object?]>
> = {
  'Express with npm': [
    { 'package.json': packageJson(express), 'package-lock.json': '{}', 'app.js': '' },
    'Node (Express) with npm',
    { web: 'node app.js' },
    { manager: 'npm', lockFile: 'package-lock.json', build: undefined },
  ],
  'Express with pnpm, of an editor of Windows': [
    { 'package.json': `\ufeff${packageJson(express)}`, 'pnpm-lock.yaml': '' },
    'Node (Express) with pnpm',
    { web: 'node app.js' },
    { manager: 'pnpm', lockFile: 'pnpm-lock.yaml' },
  ],
  'workspaces of npm': [
    {
      'package.json': packageJson({ workspaces: ['web'], scripts: { start: 'node web/main.js' } }),
    },
    'Node with npm',
    { web: 'node web/main.js' },
    { hasPackages: true, installsMore: true },
  ],
  'workspaces of pnpm': [
    {
      'package.json': packageJson({ scripts: { start: 'node web/main.js' } }),
      ...{ 'pnpm-lock.yaml': '', 'pnpm-workspace.yaml': 'packages:\n  - web\n' },
    },
    'Node with pnpm',
    { web: 'node web/main.js' },
    { hasPackages: true, installsMore: true },
  ],
  'Express with Yarn 4': [
    { 'package.json': packageJson(express), 'yarn.lock': '__metadata:\n  version: 8\n' },
    'Node (Express) with yarn',
    { web: 'node app.js' },
    { manager: 'yarn', isBerry: true },
  ],
  'two locks and a named manager': [
    {
      'package.json': packageJson({ ...express, packageManager: 'pnpm@9.1.0' }),
      ...{ 'pnpm-lock.yaml': '', 'package-lock.json': '{}' },
    },
    'Node (Express) with pnpm',
    { web: 'node app.js' },
  ],
  'Next.js': [
    {
      'package.json': packageJson({
        dependencies: { next: '15', react: '19', pg: '8' },
        scripts: { build: 'next build', start: 'next start' },
        engines: { node: '>=20' },
      }),
    },
    'Node (Next.js) with npm',
    { web: 'next start' },
    { build: 'build', version: { range: '>=20', place: 'engines.node' }, lockFile: undefined },
  ],
  'a start with variables': [
    {
      'package.json': packageJson({
        scripts: {
          start: 'NODE_ENV=production PORT=${PORT:-3000} node dist/main.js',
          'start:prod': 'pm2 start dist/main.js',
        },
      }),
    },
    'Node',
    { web: 'env NODE_ENV=production PORT=${PORT:-3000} node dist/main.js' },
  ],
  'a start of several commands': [
    { 'package.json': packageJson({ scripts: { start: 'node migrate.js && node server.js' } }) },
    'Node',
    { web: 'npm run start' },
  ],
  'app-scenario 76: a main and no start': [
    {
      'package.json': packageJson({ main: './lib/index.js' }),
      'lib/index.js': '',
      '.nvmrc': 'v22\n',
    },
    'Node',
    { web: 'node lib/index.js' },
    { version: { range: '22', place: '.nvmrc' } },
  ],
  'Vite and React': [
    {
      'package.json': packageJson(vite),
      'package-lock.json': '{}',
      'index.html': '<div>',
      'vite.config.ts': '',
    },
    'Node (Vite) with npm',
    { web: undefined },
    { pages: 'dist' },
  ],
  'Vite with a folder of its own': [
    { 'package.json': packageJson(vite), 'vite.config.js': "build: { outDir: 'public_html' }" },
    'Node (Vite) with npm',
    { web: undefined },
    { pages: 'public_html' },
  ],
  'Create React App': [
    {
      'package.json': packageJson({
        dependencies: { 'react-scripts': '5' },
        scripts: { start: 'react-scripts start', build: 'react-scripts build' },
      }),
      'public/index.html': '',
    },
    'Node (Create React App) with npm',
    { web: undefined },
    { pages: 'build' },
  ],
  Astro: [
    {
      'package.json': packageJson({
        dependencies: { astro: '5' },
        scripts: { build: 'astro build' },
      }),
    },
    'Node (Astro) with npm',
    { web: undefined },
    { pages: 'dist' },
  ],
  VitePress: [
    {
      'package.json': packageJson({
        devDependencies: { vitepress: '1' },
        scripts: { 'docs:dev': 'vitepress dev docs', 'docs:build': 'vitepress build docs' },
      }),
    },
    'Node (VitePress) with npm',
    { web: undefined },
    { pages: 'docs/.vitepress/dist' },
  ],
  'SvelteKit with its server': [
    {
      'package.json': packageJson({
        scripts: { build: 'vite build' },
        devDependencies: { '@sveltejs/kit': '2', '@sveltejs/adapter-node': '5', vite: '6' },
      }),
      '.nvmrc': '# use 18\r\nlts/jod\r\n',
    },
    'Node (SvelteKit) with npm',
    { web: 'node build' },
    { pages: undefined, version: { range: '22', place: '.nvmrc' } },
  ],
  'a start for development beside one of what is built': [
    {
      'package.json': packageJson({
        scripts: { start: 'nest start', 'start:prod': 'node dist/main', 'heroku-postbuild': 'x' },
        volta: { node: '22.3.0' },
      }),
    },
    'Node',
    { web: 'node dist/main' },
    { build: 'heroku-postbuild', version: { range: '^22.3.0', place: 'volta.node' } },
  ],
  'a start by a package for development': [
    {
      'package.json': packageJson({
        scripts: { start: 'cross-env A=1 node a.js' },
        devDependencies: { 'cross-env': '7' },
      }),
    },
    'Node with npm',
    { web: 'cross-env A=1 node a.js' },
    { developmentPackages: 'run' },
  ],
  Angular: [
    {
      'package.json': packageJson({
        scripts: { start: 'ng serve', build: 'ng build' },
        devDependencies: { '@angular/cli': '20' },
      }),
      'angular.json':
        '{"projects":{"shop":{"architect":{"build":{"builder":"@angular/build:application"}}}}}',
    },
    'Node with npm',
    { web: undefined },
    { pages: 'dist/shop/browser' },
  ],
  'app-scenario 77: Flask with requirements': [
    {
      'requirements.txt':
        '# web\nFlask==3.0.3\ngunicorn ; python_version > "3.8"\npsycopg2-binary\n',
      'app.py': flask,
    },
    'Python (Flask) with pip',
    { web: 'gunicorn app:app --bind $HOST:$PORT' },
    { packages: 'requirements.txt', requirements: undefined },
  ],
  'app-scenario 77: Flask with uv': [
    {
      'pyproject.toml':
        '[project]\nname = "hello"\nrequires-python = ">=3.11,<4"\ndependencies = ["flask>=3", "gunicorn"]\n',
      ...{ 'uv.lock': '', 'src/hello/__init__.py': 'def create_app():\n', 'hello.py': flask },
    },
    'Python (Flask) with uv',
    { web: 'gunicorn hello:app --bind $HOST:$PORT' },
    { packages: 'uv.lock', version: { range: '>=3.11 <4', place: 'requires-python' } },
  ],
  'app-scenario 77: Flask with Poetry': [
    {
      'pyproject.toml':
        '[tool.poetry.dependencies]\npython = "^3.11"\nflask = "^3"\ngunicorn = "*"\n',
      ...{ 'poetry.lock': '', 'app/__init__.py': 'def create_app():\n  pass\n' },
    },
    'Python (Flask) with Poetry',
    { web: "gunicorn 'app:create_app()' --bind $HOST:$PORT" },
    { packages: 'poetry.lock', version: { range: '^3.11', place: 'requires-python' } },
  ],
  'requirements that Poetry has written': [
    {
      'pyproject.toml': '[tool.poetry.dependencies]\nflask = "^3"\ngunicorn = "*"\n',
      ...{ 'requirements.txt': 'flask\ngunicorn\n', 'app.py': flask },
    },
    'Python (Flask) with pip',
    { web: 'gunicorn app:app --bind $HOST:$PORT' },
    { packages: 'requirements.txt' },
  ],
  'a project that is no package': [
    {
      'pyproject.toml': '[project]\ndependencies = ["fastapi[standard]>=0.115"]\n',
      'main.py': fastapi,
      '.python-version': '3.12.4\n',
    },
    'Python (FastAPI) with pip',
    { web: 'uvicorn main:app --host $HOST --port $PORT' },
    {
      requirements: ['fastapi[standard]>=0.115'],
      version: { range: '3.12', place: '.python-version' },
    },
  ],
  'app-scenario 79: Django': [
    {
      ...{
        'manage.py': manage,
        'mysite/wsgi.py': '',
        'mysite/settings.py': 'STATIC_ROOT = BASE_DIR / "static"\n',
      },
      'requirements.txt': '-r requirements/base.txt\ngunicorn\n',
      'requirements/base.txt': 'Django>=5\n',
    },
    'Python (Django) with pip',
    { web: 'gunicorn mysite.wsgi --bind $HOST:$PORT' },
    { collectsStatic: 'manage.py' },
  ],
  'Django in a folder': [
    {
      ...{ 'requirements.txt': 'django\ngunicorn\n', 'src/manage.py': manage },
      ...{ 'src/mysite/wsgi.py': '', 'src/mysite/settings.py': 'STATIC_ROOT = 1\n' },
    },
    'Python (Django) with pip',
    { web: 'gunicorn mysite.wsgi --pythonpath src --bind $HOST:$PORT' },
    { collectsStatic: 'src/manage.py' },
  ],
  'app-scenario 80: FastAPI in a folder': [
    {
      ...{ 'requirements.txt': 'fastapi\nuvicorn[standard]\n', 'app/__init__.py': '' },
      ...{ 'app/main.py': fastapi, 'tests/test_main.py': fastapi },
    },
    'Python (FastAPI) with pip',
    { web: 'uvicorn app.main:app --host $HOST --port $PORT' },
  ],
  'FastAPI by a function, in src, with settings of tools': [
    {
      ...{ 'pyproject.toml': '[tool.black]\n', 'src/shop/main.py': 'app = build_app()\n' },
      ...{ 'requirements.txt': 'fastapi\nhypercorn\n', 'runtime.txt': 'python-3.12.4' },
    },
    'Python (FastAPI) with pip',
    { web: 'env PYTHONPATH=src hypercorn shop.main:app --bind $HOST:$PORT' },
    { packages: 'requirements.txt', version: { range: '3.12', place: 'runtime.txt' } },
  ],
  Streamlit: [
    { 'requirements/prod.txt': 'streamlit\n', 'app.py': 'import streamlit as st\n' },
    'Python (Streamlit) with pip',
    {
      web: 'streamlit run app.py --server.headless true --server.address $HOST --server.port $PORT',
    },
    { packages: 'requirements/prod.txt' },
  ],
  Starlette: [
    {
      'requirements.txt': 'starlette\nuvicorn\n',
      'example.py': 'application: Starlette = Starlette(routes=[])\n',
    },
    'Python (Starlette) with pip',
    { web: 'uvicorn example:application --host $HOST --port $PORT' },
  ],
  'a script of Python': [
    { 'requirements.txt': 'requests\n', 'main.py': 'print()' },
    'Python with pip',
    { web: 'python3 main.py' },
  ],
  'Go in the root': [
    {
      'go.mod': 'module github.com/heroku/go-getting-started/v2\n\ngo 1.22.0\n',
      'main.go': goMain,
    },
    'Go',
    { web: './bin/go-getting-started' },
    { target: '.', version: { range: '>=1.22.0', place: 'go.mod' } },
  ],
  'Go with one program in cmd': [
    {
      'go.mod': 'module shop\n',
      'cmd/server/main.go': goMain,
      'internal/a.go': 'package internal',
    },
    'Go',
    { web: './bin/server' },
    { target: './cmd/server' },
  ],
  'Go in a folder of its own, with tools beside it': [
    {
      ...{ 'go.mod': 'module x\n', 'server/main.go': goMain, 'tools/a.go': goMain },
      'gen.go': '//go:build ignore\n\npackage main\n',
      'package.json': packageJson(vite),
    },
    'Go',
    { web: './bin/server' },
    { target: './server' },
  ],
  'static pages': [
    { 'index.html': '', 'style.css': '' },
    'Static pages',
    { web: undefined },
    { pages: '.' },
  ],
  'static pages in public': [
    { 'public/index.html': '' },
    'Static pages',
    { web: undefined },
    { pages: 'public' },
  ],
  'app-scenario 74: Procfile with web, worker and release': [
    {
      Procfile:
        'web: gunicorn app:app\nworker: python worker.py\n# once\nrelease: python migrate.py\n',
      ...{ 'requirements.txt': 'flask\ngunicorn\nredis\n', 'app.py': flask },
    },
    'Python with pip',
    { web: 'gunicorn app:app', worker: 'python worker.py', release: 'python migrate.py' },
  ],
  'Procfile beside Go with two programs': [
    {
      Procfile: 'web: bin/api\njobs: bin/jobs\n',
      'go.mod': 'module x\n',
      'cmd/api/a.go': goMain,
      'cmd/jobs/b.go': goMain,
    },
    'Go',
    { web: 'bin/api', jobs: 'bin/jobs' },
    { target: './cmd/...', binary: 'bin/' },
  ],
  'Procfile beside pages': [
    { Procfile: 'web: python3 -m http.server $PORT\n', 'index.html': '' },
    'Commands of your own',
    { web: 'python3 -m http.server $PORT' },
  ],
  'Procfile alone': [
    { Procfile: 'web: ./serve.sh' },
    'Commands of your own',
    { web: './serve.sh' },
  ],
  Dockerfile: [
    {
      Dockerfile: 'FROM node:22\nEXPOSE 3000/tcp 443\nCMD ["node", "."]\n',
      'package.json': packageJson(express),
    },
    'Container image',
    { web: undefined },
    { file: 'Dockerfile', ports: ['3000'] },
  ],
  Containerfile: [{ Containerfile: 'FROM scratch\n' }, 'Container image', { web: undefined }],
  'app-scenario 84: a jar': [
    { 'app.jar': '' },
    'Java',
    { web: 'java -Dserver.port=$PORT -jar app.jar' },
  ],
  'Rust in src/bin': [
    { 'Cargo.toml': '[package]\nname = "shop"\n', 'Cargo.lock': '', 'src/bin/server.rs': '' },
    'Rust',
    { web: './bin/server' },
  ],
  'app-scenario 84: Rust': [
    { 'Cargo.toml': '[package]\nname = "hello-axum"\n', 'Cargo.lock': '', 'src/main.rs': '' },
    'Rust',
    { web: './bin/hello-axum' },
  ],
}

for (const [name, [files, title, runs, language]] of Object.entries(folders)) {
  test(`${name} is detected`, async () => {
    const found = await detectIn(files)
    const services = Object.fromEntries(found.services.map((each) => [each.name, each.command]))
    const release = found.release === undefined ? {} : { release: found.release }
    assert.equal(found.title, title)
    assert.deepEqual({ ...services, ...release }, runs)
    assert.partialDeepStrictEqual(found.language, language ?? {})
  })
}

const errors: Readonly<Record<string, [Files, RegExp, RegExp, BuildWishes?]>> = {
  'app-scenario 75: two locks': [
    { 'package.json': packageJson(express), 'yarn.lock': '', 'package-lock.json': '{}' },
    /yarn.lock and package-lock.json: two package managers/,
    /Remove all but one/,
  ],
  'app-scenario 76: nothing to start': [
    { 'package.json': packageJson({ main: 'lib.js' }) },
    /no script "start", and there is no lib.js, no server.js, no index.js/,
    /"start": "node server.js"/,
  ],
  'workspaces without a start of their own': [
    {
      ...{ 'package.json': '{}', 'pnpm-workspace.yaml': 'packages: [web]\n' },
      'apps/web/package.json': packageJson({ scripts: { start: 'next start' } }),
    },
    /no script "start"/,
    /"web: npm --prefix apps\/web start"/,
  ],
  'a folder of a repository with workspaces': [
    { 'package.json': packageJson({ dependencies: { ui: 'workspace:*' } }) },
    /package ui is a workspace of a folder above/,
    /at its root/,
  ],
  'app-scenario 78: Flask without gunicorn': [
    { 'requirements.txt': 'flask\n', 'app.py': flask },
    /has no server for production/,
    /Add gunicorn to requirements.txt: a line "gunicorn"/,
  ],
  'requirements of PowerShell': [
    { 'requirements.txt': '\ufffd\ufffdf\0' },
    /requirements\.txt is written in UTF-16/,
    /UTF-8/,
  ],
  'FastAPI without uvicorn': [
    {
      'uv.lock': '',
      'pyproject.toml': '[project]\ndependencies = ["fastapi"]\n',
      'main.py': fastapi,
    },
    /FastAPI/,
    /uv add uvicorn/,
  ],
  'app-scenario 81: two programs of Go': [
    { 'go.mod': 'module x\n', 'cmd/api/a.go': goMain, 'cmd/jobs/b.go': goMain },
    /several programs: cmd\/api, cmd\/jobs/,
    /go build -o bin\/app \.\/cmd\/api/,
  ],
  'app-scenario 83: Ruby': [
    { Gemfile: '' },
    /Ruby \(Gemfile\).*Not detected/,
    /FROM ruby[\s\S]*build: \{ steps/,
  ],
  'app-scenario 83: PHP with Vite': [
    { 'composer.json': '{}', 'package.json': packageJson(vite) },
    /PHP \(composer.json\)/,
    /FROM php/,
  ],
  'app-scenario 83: Maven': [{ 'pom.xml': '' }, /Maven \(pom.xml\)/, /FROM maven/],
  'app-scenario 83: Deno': [
    { 'deno.json': '{}', 'main.ts': '' },
    /Deno \(deno.json\)/,
    /FROM denoland/,
  ],
  'several programs of Rust': [
    { 'Cargo.toml': '[workspace]\nmembers = ["crates/api"]\n' },
    /names no package/,
    /--bin api .*command: \.\/bin\/api/,
  ],
  'pages that show sources': [
    { 'index.html': '', 'index.php': '' },
    /PHP \(index.php\)/,
    /FROM php/,
  ],
  'pages of Jekyll': [{ 'index.html': '---', '_config.yml': '' }, /Jekyll/, /FROM ruby/],
  'a start by Bun': [
    { 'package.json': packageJson({ scripts: { start: 'bun src/index.ts' } }) },
    /Bun \(script "start"\)/,
    /FROM oven/,
  ],
  'apps in folders': [
    {
      ...{
        'client/package.json': '{}',
        'server/package.json': '{}',
        'server/lib/package.json': '{}',
      },
      ...{ '.devcontainer/Dockerfile': '', 'docs/index.html': '' },
    },
    /Nothing in the folder/,
    /run "fairlead init" in client or docs or server\.$/,
  ],
  'manifests of Kubernetes': [
    { 'k8s/web.yaml': 'kind: Service\napiVersion: v1\n' },
    /k8s\/web\.yaml is for Kubernetes/,
    /by a pipeline/,
  ],
  Bun: [
    { 'bun.lock': '', 'package.json': packageJson(express) },
    /Bun \(bun.lock\)/,
    /FROM oven\/bun/,
  ],
  'a Dockerfile elsewhere, and one of Compose': [
    { 'docker-compose.yml': '', 'web/Dockerfile': '' },
    /does not read docker-compose\.yml/,
    /build: \{ dockerfile: web\/Dockerfile \}.*build: \{ from: web \}/,
  ],
  'an empty folder': [{}, /Nothing in the folder/, /Dockerfile/],
  'Poetry without its lock file': [
    {
      'pyproject.toml':
        '[tool.poetry]\nname = "shop-web"\n[tool.poetry.dependencies]\npython = "^3.11"\nflask = "^3"\n[build-system]\nbuild-backend = "poetry.core.masonry.api"\n',
      'app.py': '',
    },
    /for Poetry, and there is no poetry\.lock/,
    /Run "poetry lock"/,
  ],
  'a Procfile that is none': [
    { Procfile: 'web node' },
    /Line 1 of Procfile/,
    /web: node server.js/,
  ],
  'a Procfile with a name twice': [
    { Procfile: 'a_b: x\na-b: y\n' },
    /Line 2 of Procfile names "a-b", which a line before has/,
    /another name/,
  ],
  'no Dockerfile': [
    { 'index.html': '' },
    /no Dockerfile, which "build: dockerfile"/,
    /remove the key/,
    { kind: 'dockerfile' },
  ],
}

for (const [name, [files, message, remedy, wishes]] of Object.entries(errors)) {
  test(`${name} is an error with a remedy`, async () => {
    const error: unknown = await detectIn(files, wishes).catch((reason: unknown) => reason)
    assert.ok(error instanceof DetectionError)
    assert.match(error.message, message)
    assert.match(error.remedy, remedy)
  })
}

test('clients among the packages name databases; one exposed port is the port', async () => {
  const node = {
    'package.json': packageJson({ ...express, dependencies: { pg: '8', ioredis: '5' } }),
  }
  const go = {
    'go.mod': 'module x\nrequire (\n\tgithub.com/jackc/pgx/v5 v5.5.0\n)\n',
    'main.go': goMain,
  }
  assert.deepEqual((await detectIn(node)).databases, ['postgresql', 'redis'])
  assert.deepEqual((await detectIn(go)).databases, ['postgresql'])
  const django = {
    'manage.py': '',
    'requirements.txt': 'django\ngunicorn\n',
    'shop/wsgi.py': '',
    'shop/settings.py': "DATABASES = {'default': {'ENGINE': 'django.db.backends.sqlite3'}}",
  }
  assert.deepEqual((await detectIn(django)).databases, ['sqlite'])
  const both = { ...django, 'requirements.txt': 'django\ngunicorn\npsycopg\n' }
  assert.deepEqual((await detectIn(both)).databases, ['postgresql'])
  assert.equal((await detectIn({ Dockerfile: 'EXPOSE 3000' })).port, 3000)
  assert.equal((await detectIn({ Dockerfile: 'EXPOSE 3000 3001' })).port, undefined)
  const stages = 'FROM a AS base\nEXPOSE 80\nFROM b\nEXPOSE 3000 4000/udp\n'
  assert.equal((await detectIn({ Dockerfile: stages })).port, 3000)
  assert.equal((await detectIn({ Dockerfile: `${stages}FROM --platform=x base\n` })).port, 80)
})
