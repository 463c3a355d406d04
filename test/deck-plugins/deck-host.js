/**
 * A page that loads plug-ins as Deck does: it shares its libraries, reads the manifest of the gateway, imports each module, and renders
 * what was registered. Bundled with preact in the place of React.
 */
import * as react from 'preact/compat'

const { createElement } = react
const gateUrl = `${location.origin}/gate`

const get = async (path, query = {}) => {
  const answer = await fetch(`${gateUrl}${path}?${new URLSearchParams(query)}`)
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`)
  return answer.json()
}

const REST = (path, query = {}) => ({
  path: (...segments) => REST([path, ...segments.map(encodeURIComponent)].join('/'), query),
  query: (more) => REST(path, { ...query, ...more }),
  get: () => get(path, query),
})

const isOver = (status) => !['NOT_STARTED', 'RUNNING'].includes(status)

async function executeTask({ application, description, job }) {
  const body = JSON.stringify({ application: application.name, description, job })
  const answer = await fetch(`${gateUrl}/tasks`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
  if (!answer.ok) throw new Error(await answer.text())
  return answer.json()
}

class TaskMonitor {
  status = 'NOT_STARTED'
  constructor(config) {
    this.config = config
  }
  async submit(start) {
    const { ref } = await start()
    while (!isOver(this.status)) {
      await new Promise((resolve) => setTimeout(resolve, 100))
      this.status = (await get(ref)).status
    }
    await this.config.onTaskComplete?.()
    this.config.onDismiss?.()
    document.querySelector('#task').textContent = `${this.config.title}: ${this.status}`
  }
}

const mount = (element) => {
  const place = document.createElement('div')
  document.body.append(place)
  react.render(element, place)
  return () => react.unmountComponentAtNode(place)
}

const ReactModal = {
  show: (component, props) =>
    new Promise((resolve, reject) => {
      let close = () => {}
      const end = (settle) => (value) => {
        close()
        settle(value)
      }
      close = mount(
        createElement(component, { ...props, closeModal: end(resolve), dismissModal: end(reject) }),
      )
    }),
}

const ConfirmationModalService = {
  confirm({ header, buttonText, taskMonitorConfig, submitMethod }) {
    const run = () => {
      close()
      new TaskMonitor(taskMonitorConfig).submit(submitMethod)
    }
    const close = mount(
      createElement(
        'div',
        { role: 'dialog' },
        createElement('h4', {}, header),
        createElement('button', { onClick: run }, buttonText),
      ),
    )
  },
}

const providers = new Map()
const stageTypes = ['resizeServerGroup', 'bake', 'runJob', 'rollbackCluster'].map((key) => ({
  key,
  label: key,
  useBaseProvider: true,
}))
const settings = { gateUrl, providers: {} }
const section = ({ heading, children }) =>
  createElement('section', {}, createElement('h4', {}, heading), children)
const plain = ({ children }) => createElement('div', {}, children)

window.spinnaker = {
  plugins: {
    sharedLibraries: {
      react,
      rxjs: { from: (promise) => ({ subscribe: (listener) => promise.then(listener) }) },
      _uirouter_react: { UISref: plain },
      _spinnaker_core: {
        SETTINGS: settings,
        CloudProviderRegistry: {
          // Deck ignores providers that its settings do not name.
          registerProvider: (id, provider) => settings.providers[id] && providers.set(id, provider),
        },
        DeploymentStrategyRegistry: { registerProvider() {} },
        Registry: {
          pipeline: {
            getStageTypes: () => stageTypes,
            registerStage: (type) => stageTypes.push(type),
          },
        },
        REST,
        TaskExecutor: { executeTask },
        TaskMonitor,
        ConfirmationModalService,
        ReactModal,
        timestamp: (ms) => new Date(ms).toISOString(),
        ExecutionDetailsTasks: plain,
        ExecutionDetailsSection: plain,
        AccountTag: ({ account }) => account,
        CloudProviderLogo: () => null,
        CollapsibleSection: section,
        HealthCounts: ({ container }) => `${container.up} of ${container.total} up`,
        ModalClose: () => null,
        TaskMonitorWrapper: () => null,
      },
    },
  },
}

/** The application `shop`, whose lists pass through the transformers of the provider as in Deck. */
async function openApplication({ serverGroup, loadBalancer }) {
  const list = async (name, transform) => {
    const items = await get(`/applications/shop/${name}`)
    return Promise.all(items.map(transform))
  }
  const source = async (read) => {
    const opened = { data: await read(), ready: async () => {}, onRefresh: () => () => {} }
    opened.refresh = async () => {
      opened.data = await read()
    }
    return opened
  }
  const [groups, balancers] = [new serverGroup.transformer(), new loadBalancer.transformer()]
  return {
    name: 'shop',
    serverGroups: await source(() =>
      list('serverGroups', (group) => groups.normalizeServerGroup(group)),
    ),
    loadBalancers: await source(() =>
      list('loadBalancers', (balancer) => balancers.normalizeLoadBalancer(balancer)),
    ),
    securityGroups: await source(async () => []),
  }
}

function StageForm({ component, application, stage }) {
  const [, update] = react.useState(0)
  const updateStageField = (changes) => {
    Object.assign(stage, changes)
    update((count) => count + 1)
  }
  return createElement(component, { application, stage, updateStageField })
}

/** What the test does with the page; each answers once it is rendered. */
window.deck = {
  async load() {
    for (const { id, version } of await get('/plugins/deck/plugin-manifest.json')) {
      const { plugin } = await import(`${gateUrl}/plugins/deck/${id}/${version}/index.js`)
      await plugin.initialize(plugin)
    }
    this.provider = providers.get('local')
    this.application = await openApplication(this.provider)
    const { _spinnaker_core: core } = window.spinnaker.plugins.sharedLibraries
    return {
      offered: Object.entries(core).flatMap(([name, value]) => [
        name,
        ...Object.keys(value).map((member) => `${name}.${member}`),
      ]),
      provider: this.provider.name,
      stages: stageTypes.filter(({ cloudProvider }) => cloudProvider === 'local'),
    }
  },
  async serverGroup(serverGroup) {
    const { detailsGetter, detailsActions, detailsSections } = this.provider.serverGroup
    const app = this.application
    const group = await new Promise((resolve) =>
      detailsGetter({ app, serverGroup }, () => {}).subscribe(resolve),
    )
    const parts = [detailsActions, ...detailsSections].map((part) =>
      createElement(part, { app, serverGroup: group }),
    )
    mount(createElement('main', {}, ...parts))
  },
  panel(kind, props) {
    mount(createElement(this.provider[kind].details, { app: this.application, ...props }))
  },
  async create() {
    const command = await new this.provider.serverGroup.commandBuilder().buildNewServerGroupCommand(
      this.application,
      null,
    )
    const shown = this.provider.serverGroup.CloneServerGroupModal.show({
      title: 'Create',
      application: this.application,
      command,
    })
    // As in Deck, a dialog that is dismissed rejects.
    shown.catch(() => {})
  },
  stage(type, stage) {
    const { component } = stageTypes.find(
      ({ provides, key, cloudProvider }) => cloudProvider && (provides ?? key) === type,
    )
    this.stageFields = stage
    mount(createElement(StageForm, { component, application: this.application, stage }))
  },
}
