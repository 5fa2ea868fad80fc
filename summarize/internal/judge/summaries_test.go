package judge_test

import (
	"fmt"
	"strings"
)

// session is what a summary tells of a session, in a language, with its headings.
type session struct {
	language string
	heads    [5]string
	parts    [5]string // goal, course, state, files, next
}

var sessions = []session{
	{"English", [5]string{"Goal", "Course", "State", "Files", "Next"}, [5]string{
		"The user wants `go build ./...` to pass again after the scanner was updated to v2.3.0, without new dependencies.",
		"You found that scanner.Token was renamed to scanner.Tok (go.mod:14), renamed it in two files, and ran the tests: 41 pass, 2 fail (TestLineEnds, TestCR).",
		"It builds. Both failing tests read Windows line ends through bufio.ScanLines, which drops \\r.",
		"parser.go (renamed type), lexer.go (renamed type), reader.go:118 (the scanner).",
		"Replace bufio.ScanLines by a split function that keeps \\r\\n, then run `go test ./importer -race`.",
	}},
	{"German", [5]string{"Ziel", "Verlauf", "Stand", "Dateien", "Nächste Schritte"}, [5]string{
		"Der Nutzer möchte, dass der Export nach DATEV wieder Umlaute enthält; UTF-8 bleibt Vorgabe, Latin-1 nur auf Wunsch.",
		"Du hast den Fehler in export/writer.py gefunden (Zeile 212, encode('ascii', 'ignore')), ihn behoben und drei Tests ergänzt.",
		"Alle 87 Tests laufen. Offen ist die Meldung bei fehlender Kontonummer.",
		"export/writer.py (geändert), tests/test_writer.py (neu), docs/export.md (noch nicht angefasst).",
		"Meldung E-104 in export/errors.py ergänzen und die Dokumentation nachziehen.",
	}},
	{"French", [5]string{"Objectif", "Déroulement", "État", "Fichiers", "Suite"}, [5]string{
		"L'utilisateur veut que la page des factures se charge en moins de deux secondes, sans changer l'API publique.",
		"Tu as mesuré 7,4 s, dont 6,1 s dans une requête N+1 de InvoiceRepository::findAll ; un JOIN l'a ramenée à 0,3 s.",
		"La page se charge en 1,6 s. Le test InvoiceListTest échoue encore à cause de l'ordre des lignes.",
		"src/Repository/InvoiceRepository.php, tests/InvoiceListTest.php, migrations/Version20250311.php.",
		"Ajouter ORDER BY issued_at, puis relancer phpunit et mesurer de nouveau.",
	}},
	{"Spanish", [5]string{"Objetivo", "Recorrido", "Estado", "Archivos", "Siguiente"}, [5]string{
		"El usuario quiere que el despliegue en Kubernetes no corte conexiones; no acepta más de 10 s de parada.",
		"Añadiste un preStop de 15 s y un readinessProbe a deploy/api.yaml; con kubectl rollout restart se perdieron 3 de 2.000 peticiones.",
		"Falta cerrar las conexiones de WebSocket: server.Shutdown no las espera.",
		"deploy/api.yaml, cmd/api/main.go, internal/ws/hub.go.",
		"Llamar a hub.Close antes de server.Shutdown y repetir la prueba con hey -z 60s.",
	}},
	{"Portuguese", [5]string{"Objetivo", "O que foi feito", "Situação", "Arquivos", "Próximos passos"}, [5]string{
		"O usuário quer importar planilhas de 200 MB sem estourar a memória do contêiner (512 MB).",
		"Você trocou openpyxl por leitura em fluxo (read_only=True) e mediu 180 MB de pico em vez de 1,4 GB.",
		"A importação termina em 94 s; datas em formato brasileiro ainda viram texto.",
		"importer/xlsx.py, importer/dates.py, tests/data/grande.xlsx.",
		"Tratar dd/mm/aaaa em importer/dates.py e medir outra vez.",
	}},
	{"Russian", [5]string{"Цель", "Ход работы", "Состояние", "Файлы", "Дальше"}, [5]string{
		"Пользователь хочет, чтобы бот отвечал в групповых чатах только на упоминания и не терял сообщения при перезапуске.",
		"Ты добавил фильтр по entities в handlers/group.py и сохранил offset в Redis; после перезапуска потерь не было.",
		"Работает, но команды с @имя_бота длиннее 32 символов отбрасываются.",
		"handlers/group.py, storage/offset.py, tests/test_group.py (19 тестов).",
		"Исправить разбор команды в handlers/group.py:77 и добавить тест.",
	}},
	{"Chinese", [5]string{"目标", "经过", "现状", "文件", "下一步"}, [5]string{
		"用户希望把订单服务从单体应用中拆分出来，接口保持不变，停机时间不超过五分钟，数据库暂时共用一个实例。",
		"你已经把 OrderService 移到新模块 order-api，改写了 17 处调用，并用 docker compose 启动了两个服务；冒烟测试通过 23 项，失败 1 项。",
		"失败的是 RefundTest：退款回调仍然指向旧地址 /internal/refund，返回 404。配置项在 application-prod.yml 第 42 行。",
		"order-api/src/main/java/com/shop/order/OrderService.java，gateway/routes.yml，deploy/compose.yml。",
		"修改 gateway/routes.yml 中的回调路由，重新运行 RefundTest，然后写迁移说明给运维。",
	}},
	{"Japanese", [5]string{"目的", "経過", "現状", "ファイル", "次の作業"}, [5]string{
		"利用者は、検索画面の応答を1秒以内にしたい。既存のAPIの形は変えず、Elasticsearchの版も上げないこと。",
		"遅さの原因は wildcard クエリだった。edge_ngram の索引 products_v2 を作り、再索引には 14 分かかった。p95 は 4.2 秒から 0.6 秒に下がった。",
		"日本語の部分一致は動くが、全角英数字の正規化がまだで、「ＡＢＣ」で検索すると 0 件になる。",
		"search/query.ts、search/mapping.json、scripts/reindex.sh。",
		"mapping.json に icu_normalizer を足して再索引し、e2e テスト search.spec.ts を回す。",
	}},
	{"Korean", [5]string{"목표", "경과", "상태", "파일", "다음 단계"}, [5]string{
		"사용자는 결제 모듈의 중복 승인을 막고 싶어 하며, PG사의 API 버전은 그대로 두어야 한다.",
		"멱등 키를 payment_requests 테이블에 추가하고 PaymentClient.approve에서 재시도할 때 같은 키를 보내도록 고쳤다. 부하 시험 5,000건에서 중복 0건.",
		"취소 흐름은 아직 키를 쓰지 않는다. CancelServiceTest 2건이 실패한다.",
		"payment/PaymentClient.kt, payment/CancelService.kt, db/V12__idempotency.sql",
		"CancelService에도 키를 적용하고 시험을 다시 돌린 뒤 운영 문서를 고친다.",
	}},
	{"Arabic", [5]string{"الهدف", "ما تم", "الحالة", "الملفات", "الخطوة التالية"}, [5]string{
		"يريد المستخدم أن يعمل التطبيق من اليمين إلى اليسار في كل الشاشات، وأن تبقى الأرقام لاتينية.",
		"أضفت dir=\"rtl\" في layout.tsx وغيّرت 34 قاعدة من margin-left إلى margin-inline-start، ونجحت 58 لقطة من 60.",
		"شاشة التقارير ما زالت تعرض المحور الأفقي معكوسًا، والسبب في مكتبة الرسم chart.js.",
		"app/layout.tsx، styles/base.css، reports/Chart.tsx",
		"ضبط reverse: true في Chart.tsx ثم إعادة اللقطات.",
	}},
	{"Hindi", [5]string{"लक्ष्य", "अब तक", "स्थिति", "फ़ाइलें", "आगे"}, [5]string{
		"उपयोगकर्ता चाहता है कि SMS से आने वाला OTP अपने आप भर जाए और पुराने Android 8 पर भी ऐप चले।",
		"तुमने SmsRetriever जोड़ा, AndroidManifest.xml से READ_SMS अनुमति हटाई, और तीन फ़ोनों पर जाँचा; दो पर ठीक चला।",
		"Android 8 वाले फ़ोन पर hash मेल नहीं खाता: \"FA+9qCX9VSu\" अपेक्षित था।",
		"app/src/main/java/otp/OtpReader.kt, AndroidManifest.xml, build.gradle",
		"release कुंजी से hash फिर से निकालो और सर्वर के संदेश में बदलो।",
	}},
	{"Turkish", [5]string{"Amaç", "Yapılanlar", "Durum", "Dosyalar", "Sonraki adım"}, [5]string{
		"Kullanıcı, gece yedeğinin bir saatte bitmesini ve eski yedeklerin 30 gün sonra silinmesini istiyor.",
		"pg_dump yerine pgBackRest kurdun; ilk tam yedek 52 dakika sürdü, artımlı olanlar 4 dakika.",
		"Silme kuralı çalışıyor, ama S3 üzerindeki eski klasör (backup-2023) elle silinmeli.",
		"ops/pgbackrest.conf, ops/cron.d/backup, docs/yedekleme.md",
		"S3 klasörünü kullanıcıya sor, sonra geri yükleme denemesini staging üzerinde yap.",
	}},
}

// forms write a session in the forms that the prompts of the policies ask for, and that models use besides.
var forms = map[string]func(s session) string{
	"headings": func(s session) string { return s.join("## %s\n%s", "\n\n") },
	"title and headings, code": func(s session) string {
		return "# " + s.parts[0] + "\n\n" + s.join("## %s\n\n%s", "\n\n") + "\n\n```go\nfunc split(data []byte, atEOF bool) (advance int, token []byte, err error) {\n\tif i := bytes.IndexByte(data, '\\n'); i >= 0 {\n\t\treturn i + 1, data[:i+1], nil\n\t}\n\treturn len(data), data, nil\n}\n```"
	},
	"numbered sections": func(s session) string {
		var lines []string
		for i := range s.parts {
			lines = append(lines, fmt.Sprintf("%d. %s:\n   - %s", i+1, s.heads[i], s.parts[i]))
		}
		return strings.Join(lines, "\n\n")
	},
	"bold, a table": func(s session) string {
		return s.join("**%s**\n- %s", "\n\n") + "\n\n| WP | " + s.heads[3] + " | ✓ |\n|----|----------------|---|\n| WP1 | `" + s.parts[3][:20] + "` | ✅ |\n| WP2 | agent-session.ts | ❌ |\n\n```\nsrc/\n├── core/\n│   ├── agent.ts\n│   └── index.ts\n└── cli.ts\n```"
	},
	"bold labels": func(s session) string { return s.join("**%s:** %s", "\n") },
	"XML": func(s session) string {
		return "<state_snapshot>\n" + s.join("<section name=%q>\n%s\n</section>", "\n") + "\n<pom><version>1.2.3</version></pom>\n</state_snapshot>"
	},
	"plain text": func(s session) string { return strings.Join(s.parts[:], "\n") },
}

func (s session) join(format, between string) string {
	var list []string
	for i := range s.parts {
		list = append(list, fmt.Sprintf(format, s.heads[i], s.parts[i]))
	}
	return strings.Join(list, between)
}
