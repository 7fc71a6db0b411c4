import { limitOpenReads } from '../http/rate-limit/spend.ts'
import type { Routes } from '../http/routes.ts'
import { openRoutes } from '../http/routes.ts'
import { readPageParameters } from '../parameters.ts'
import { type ClientConfiguration, chatConnectors, clientConfigurations, editorLinks } from './client-configurations.ts'
import { setPageCache } from './guard.ts'
import { type Html, html } from './html.ts'
import { layout, sendPage } from './layout.ts'
import type { PageDeps } from './page-deps.ts'

/** `/connect`: how each assistant reaches the library, with what to copy. */
export function connectRouter({ assets, viewerOf, limits, publicUrl, oauth }: PageDeps): Routes {
  const router = openRoutes()
  router.get('/connect', limitOpenReads(limits), async (req, res) => {
    readPageParameters(req.originalUrl)
    const viewer = await viewerOf(req)
    const body = connectPage(publicUrl, oauth !== undefined)
    const page = layout(assets, { title: 'Connect an assistant', current: 'keys', modules: ['keys.js'], viewer, body })
    setPageCache(res, viewer, 300)
    return sendPage(res, { publicUrl, page, viewer })
  })
  return router
}

function connectPage(publicUrl: string, signIn: boolean): Html {
  return html`<h1>Connect an assistant</h1>
<p class="lead">Assistants search the library by themselves. With your sign-in or a key they also save frames and fill
  boards.</p>
${signIn && section('chats', 'Chats', chatConnectors(publicUrl), 'You sign in here, and decide what the app may do.')}
<section aria-labelledby="editors-heading">
  <h2 id="editors-heading">Editors</h2>
  <p class="actions">${editorLinks(publicUrl, signIn).map(
    ({ name, href }) => html`<a class="button" href="${href}">${name}</a> `,
  )}</p>
  <p class="hint">The button opens the program, which asks before it adds the server.</p>
</section>
${section(
  'open',
  'Without a sign-in',
  clientConfigurations(publicUrl),
  html`These search only. <a href="/keys">A key</a> in them adds your saves and boards.`,
)}`
}

function section(id: string, title: string, shown: readonly ClientConfiguration[], hint: Html | string): Html {
  return html`<section aria-labelledby="${id}-heading">
  <h2 id="${id}-heading">${title}</h2>
  <p class="hint">${hint}</p>
  ${foldedTexts(shown)}
</section>`
}

/** A text to copy for each client, behind its name. */
export function foldedTexts(shown: readonly ClientConfiguration[]): Html {
  return html`${shown.map(
    ({ id, name, where, text }) => html`<details>
    <summary>${name}</summary>
    <p class="hint">${where}</p>
    ${snippet(id, name, text)}
  </details>`,
  )}`
}

/** A text to copy. The module adds the button, because it works only with a script. */
export function snippet(id: string, label: string, text: string): Html {
  return html`<div class="snippet" data-copy="${label}">
  <pre tabindex="0" aria-label="${label}"><code id="${id}">${text}</code></pre>
</div>`
}
