/**
 * Parts of the pages that users of the admin interface see without the web UI.
 *
 * @module
 */
export {
  escapeHtml,
  pageHeaders,
  renderPage,
  renderRow,
} from "../../identity/oauth/protocol/login_pages.ts";
