/** Backend kind of the web UI; the backends are named `read-only` and `read-write`. */
export const WEB_UI_KIND = "WebUI";
