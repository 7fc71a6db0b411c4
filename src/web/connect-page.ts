import { makeZip } from 'client-zip'
import { notFound } from '../errors.ts'
import { limitOpenReads } from '../http/rate-limit/rate-limits.ts'
import { openRoutes, type Routes } from '../http/routes.ts'
import { readPageParameters } from '../parameters.ts'
import { loadSkills, type Skill } from '../views/skills.ts'
import { type ClientConfiguration, chatConnectors, clientConfigurations, editorLinks } from './client-configurations.ts'
import { setPageCache } from './guard.ts'
import { type Html, html } from './html.ts'
import { layout, sendPage } from './layout.ts'
import type { PageDeps } from './page-deps.ts'

/** `/connect`: how each assistant reaches the library, with what to copy, and the skills as files. */
export function connectRouter({ assets, viewerOf, limits, publicUrl, oauth }: PageDeps): Routes {
  const router = openRoutes()
  const skills = loadSkills()
  router.get('/connect', limitOpenReads(limits), async (req, res) => {
    readPageParameters(req.originalUrl)
    const viewer = await viewerOf(req)
    const body = connectPage(publicUrl, { signIn: oauth !== undefined, skills })
    const page = layout(assets, { title: 'Connect an assistant', current: 'keys', modules: ['keys.js'], viewer, body })
    setPageCache(res, viewer, 300)
    return sendPage(res, { publicUrl, page, viewer })
  })
  router.get('/connect/skills/:file', limitOpenReads(limits), async (req, res) => {
    readPageParameters(req.originalUrl)
    const skill = skills.find(({ frontmatter }) => `${frontmatter.name}.zip` === req.params.file)
    if (!skill) throw notFound('skill. The page /connect has them all')
    setPageCache(res, await viewerOf(req), 300)
    res.attachment(`${skill.frontmatter.name}.zip`).send(await zipOf(skill))
  })
  return router
}

/** The first day that a ZIP file can tell, so that equal skills are equal files. */
const EARLIEST = new Date('1980-01-01T00:00:00Z')

/** The folder that hosts take. */
async function zipOf({ frontmatter, text }: Skill): Promise<Buffer> {
  const zip = makeZip([{ name: `${frontmatter.name}/SKILL.md`, lastModified: EARLIEST, input: text }])
  return Buffer.from(await new Response(zip).arrayBuffer())
}

function connectPage(publicUrl: string, { signIn, skills }: { signIn: boolean; skills: readonly Skill[] }): Html {
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
)}
<section aria-labelledby="skills-heading">
  <h2 id="skills-heading">Skills</h2>
  <p class="hint">A skill tells an assistant how to do a whole job with the library. Some assistants find them by
    themselves; add the file to the others.</p>
  <ul>${skills.map(
    ({ frontmatter: { name, description } }) =>
      html`<li><a href="/connect/skills/${name}.zip" download>${name}.zip</a>: ${description}</li>`,
  )}</ul>
</section>`
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
